import pg from 'pg'
import { expect } from 'vitest'
import { hashBigint, hashRangeOf } from '../../../src/pipeline/fleet/hash-ranges.ts'
import { test } from '../../support/fixtures.ts'

test('a million ids have the hash that Postgres gives them, and fall into the shard that Citus cuts', async ({
  database,
}) => {
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  // Neighbouring ids from 1, ids up to the largest bigint, and negative ids, which no profile has.
  const { rows } = await client.query<{ id: string; hash: number }>(
    `select id::text, hashint8(id) as hash from (
       select i::bigint as id from generate_series(1, 600000) i
       union all select (i::numeric * 23058430092136)::bigint from generate_series(1, 390000) i
       union all select -i::bigint * 1099511627776 from generate_series(0, 10000) i
       union all select unnest(array[0, 9223372036854775807, -9223372036854775808, 4294967295, 4294967296]::bigint[])) ids`,
  )
  await client.end()
  expect(rows.length).toBeGreaterThan(1_000_000)

  const wrong = rows.filter(({ id, hash }) => hashBigint(id) !== hash)
  expect(wrong).toEqual([])

  for (const count of [1, 7, 16, 32]) {
    const width = Math.floor(2 ** 32 / count)
    const startsAt = (range: number) => -(2 ** 31) + range * width
    const misplaced = rows.filter(({ id, hash }) => {
      const range = hashRangeOf(id, count)
      return hash < startsAt(range) || (range < count - 1 && hash >= startsAt(range + 1)) || range >= count
    })
    expect(misplaced, `${count} ranges`).toEqual([])
  }
})
