import fc from 'fast-check'
import { expect } from 'vitest'
import { Rejected } from '../../../../src/base/errors.ts'
import { toRecordRows } from '../../../../src/pipeline/warehouse/readings/record-rows.ts'
import { mayBeUnstorable } from '../../../../src/pipeline/warehouse/readings/storable-rows.ts'
import { soon } from '../../../support/fixtures.ts'
import { countLockWaiters } from '../../../support/lock-waiters.ts'
import { scores } from '../../../support/stream-by-name.ts'
import { openTestPool } from '../../../support/test-pool.ts'
import { connect, march, openTestWriter, scoreRecord, scoresReading, test } from '../../../support/test-warehouse.ts'

const good = [scoreRecord({ scoreDateTime: march(1) }), scoreRecord({ scoreDateTime: march(3) })]

const poisons = {
  'the character U+0000': `{"type":"sleep","scoreDateTime":"${march(2)}","note":"a\\u0000b"}`,
  'the character U+0000 in a column': `{"type":"sleep","scoreDateTime":"${march(2)}","state":"a\\u0000b"}`,
  'half a character': `{"type":"sleep","scoreDateTime":"${march(2)}","note":"\\ud800"}`,
  'a number beyond all bounds': `{"type":"sleep","scoreDateTime":"${march(2)}","value":1e200000}`,
  'endless nesting': `{"type":"sleep","scoreDateTime":"${march(2)}","deep":${'['.repeat(20_000)}${']'.repeat(20_000)}}`,
  'a name of ten thousand letters': `{"type":"${'x'.repeat(10_000)}","scoreDateTime":"${march(2)}"}`,
  'no name': `{"scoreDateTime":"${march(2)}"}`,
  'a day that no month has': '{"type":"sleep","scoreDateTime":"2026-02-30T00:00:00Z"}',
  'a day in the year 99999': '{"type":"sleep","scoreDateTime":"99999-01-01T00:00:00Z"}',
  'an object without a text for a day': '{"type":"sleep","scoreDateTime":{"toString":1}}',
}

test('a record that cannot be stored costs neither the other records nor other profiles anything', async ({
  warehouse,
}) => {
  const whole = await warehouse.addProfiles('ada')
  const poisoned = await warehouse.addProfiles(...Object.keys(poisons))
  const { writer, rows, startedAtMs: sentAtMs } = warehouse
  const raws = Object.values(poisons)

  const stored = await Promise.all([
    writer.store(scoresReading({ profileId: whole[0] ?? '', sentAtMs, records: good })),
    ...poisoned.map((profileId, index) => {
      const request = scoresReading({ profileId, sentAtMs, records: good })
      const raw = raws[index] ?? ''
      return writer.store({ ...request, records: [...request.records, { raw, fields: JSON.parse(raw) }] })
    }),
  ])

  expect(stored.map(({ written, invalid }) => [written, invalid])).toEqual([[2, 0], ...raws.map(() => [2, 1])])
  const aside = await rows('select profile_id, direction, body, reason, times from vitalsync.quarantine order by 1')
  const asExpected = poisoned.map((profile_id, index) => ({ profile_id, body: raws[index], times: 1 }))
  asExpected.sort((a, b) => Number(a.profile_id) - Number(b.profile_id))
  expect(aside).toMatchObject(asExpected.map((row) => ({ ...row, direction: 'pull' })))
  for (const row of aside) expect(String(row['reason'])).not.toMatch(/xxx|ud800|99999|1e200/)
  for (const id of poisoned) expect(await warehouse.covered(id, 'scores')).toContain('2026-03-05')
})

test('a reading keeps aside its records without a name and its records that Postgres refuses', async ({
  warehouse,
}) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const request = scoresReading({ profileId: ada, sentAtMs: warehouse.startedAtMs, records: good })
  const odd = [poisons['no name'], poisons['half a character']].map((raw) => ({ raw, fields: JSON.parse(raw) }))

  expect(await warehouse.writer.store({ ...request, records: [...request.records, ...odd] })).toMatchObject({
    written: 2,
    invalid: 2,
  })
  expect(await warehouse.rows('select 1 from vitalsync.quarantine')).toHaveLength(2)
})

test('a record whose trial fails because the database is away is not refused: the reading fails as a whole', async ({
  warehouseUrl,
}) => {
  const away = openTestPool(warehouseUrl)
  await away.end()
  const writer = openTestWriter(away)
  const raw = poisons['half a character']
  const request = scoresReading({ profileId: '1', sentAtMs: Date.now(), records: good })

  const storing = writer.store({ ...request, records: [{ raw, fields: JSON.parse(raw) }] })

  await expect(storing).rejects.toThrow('after calling end on the pool')
})

/** JSON as another program might write it: escapes where none are needed, numbers in any form, nesting. */
const anyJson = fc.letrec((tie) => ({
  text: fc
    .array(fc.oneof(fc.constantFrom('\\u0000', '\\ud83d', '\\uDE00', '\\u00e9', '\\\\u0000', '\\n', 'é', 'a')), {
      maxLength: 4,
    })
    .map((parts) => `"${parts.join('')}"`),
  number: fc
    .tuple(
      fc.integer(),
      fc.constantFrom('', '.5', '.25e-7'),
      fc.constantFrom('', 'e5', 'E+308', 'e-999', 'e20000', 'E-20000'),
    )
    .map(([whole, part, exponent]) => `${whole}${part.includes('e') ? part : `${part}${exponent}`}`),
  list: fc.array(tie('value'), { maxLength: 3 }).map((values) => `[${values.join(',')}]`),
  value: fc.oneof({ maxDepth: 4 }, tie('text'), tie('number'), tie('list'), fc.constantFrom('true', 'null')),
}))

test('every record that is stored without a trial in Postgres is JSON to Postgres too', async ({ warehouse }) => {
  const { pool } = warehouse
  const lists = fc.array(anyJson.value, { minLength: 30, maxLength: 60 })
  let asked = 0
  await fc.assert(
    fc.asyncProperty(lists, async (values) => {
      const records = values.map((note, index) => {
        const raw = `{"type":"t${index}","scoreDateTime":"${march(2)}","note":${note}}`
        return { raw, fields: JSON.parse(raw) as Record<string, unknown> }
      })
      const { rows } = toRecordRows(scores, records, Infinity)
      const waved = rows.filter((row) => !mayBeUnstorable(row)).map((row) => row.raw)
      asked += rows.length - waved.length
      await pool.query('select count(body::jsonb) from unnest($1::text[]) body', [waved])
    }),
    { numRuns: 40 },
  )
  expect(asked).toBeGreaterThan(0)
})

const afterWhiteSpace = ['1e1000', '-2.5E+20000', '0.1e-9999']

test.for(['{"n":1e1000}', '{"n": -1.5E+1000}', '[0,1e-1000]', '[1e1000]', ...afterWhiteSpace.map((n) => `[\n${n}]`)])(
  'a number with so large an exponent is tried: %s',
  (raw) => {
    expect(mayBeUnstorable({ raw })).toBe(true)
  },
)

test.for(['{"id":"4e1234-9e5678"}', '{"id":"0a3e20000b"}', '{"n":1e99}', '{"n":1.5E-307}'])(
  'an id with digits and an e costs no trial, nor does a number that Postgres can hold: %s',
  (raw) => {
    expect(mayBeUnstorable({ raw })).toBe(false)
  },
)

test('a record that passes the trial in Postgres is stored like any other, by its exact text', async ({
  warehouse,
}) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const raw = `{ "type":"sleep", "scoreDateTime":"${march(2)}", "note":"\\ud83d\\ude00", "value": 1.10, "value": 1.20 }`
  const request = scoresReading({ profileId: ada, sentAtMs: warehouse.startedAtMs, records: good })

  await warehouse.writer.store({ ...request, records: [...request.records, { raw, fields: JSON.parse(raw) }] })

  const [row] = await warehouse.rows(
    `select s.body, v.raw ->> 'note' as note from vitalsync.scores s join warehouse.scores v using (score_date_time)
     where s.score_date_time = $1`,
    [march(2)],
  )
  expect(row).toEqual({ body: raw, note: '😀' })
})

test('an instant of 1684 is stored to the microsecond', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const records = [scoreRecord({ scoreDateTime: '1684-07-28T00:12:25.260001Z' }), ...good]

  const stored = await warehouse.writer.store(
    scoresReading({ profileId: ada, sentAtMs: warehouse.startedAtMs, records }),
  )

  expect(stored).toMatchObject({ written: 3, invalid: 0 })
  expect(await warehouse.rows('select score_date_time::text as at from vitalsync.scores order by 1 limit 1')).toEqual([
    { at: '1684-07-28 00:12:25.260001+00' },
  ])
})

test('an invalid record that is seen again only counts up in quarantine', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { writer, rows, startedAtMs } = warehouse
  const invalid = [
    { path: 'type', reason: 'missing', raw: '{"a":1}' },
    { path: 'type', reason: 'missing', raw: '{"a":1}' },
  ]

  for (const later of [0, 10]) {
    await writer.store(scoresReading({ profileId: ada, sentAtMs: startedAtMs + later, records: [], invalid }))
  }

  const { window } = scoresReading({ profileId: ada, sentAtMs: startedAtMs, records: [] })
  const span = [window.startMs, window.endMs].map((at) => new Date(at))
  expect(await rows('select times, array[lower(span), upper(span)] as span from vitalsync.quarantine')).toEqual([
    { times: 2, span },
  ])
})

test('a reading that Postgres refuses for no record of it stores nothing and covers nothing; its neighbours are stored', async ({
  warehouse,
}) => {
  const [ada = '', bob = ''] = await warehouse.addProfiles('ada', 'bob')
  const { writer, rows, startedAtMs: sentAtMs } = warehouse
  await rows('alter table vitalsync.scores add constraint refuse check (value < 0.6)')
  const refused = scoresReading({
    profileId: ada,
    sentAtMs,
    records: [scoreRecord({ scoreDateTime: march(2), value: 0.7 })],
  })

  const [mine, theirs] = await Promise.allSettled([
    writer.store(refused),
    writer.store(scoresReading({ profileId: bob, sentAtMs, records: good })),
  ])

  expect(mine).toMatchObject({ status: 'rejected', reason: expect.any(Rejected) })
  expect(theirs).toMatchObject({ status: 'fulfilled', value: { written: 2 } })
  expect(await warehouse.covered(ada, 'scores')).toBe('{}')
})

test('a deadlock is resolved by beginning again', async ({ warehouse, warehouseUrl }) => {
  const people = await warehouse.addProfiles('ada', 'bob')
  const [ada = '', bob = ''] = people
  const { writer, rows, startedAtMs: sentAtMs } = warehouse
  const other = await connect(warehouseUrl)
  const lock = (id: string) => other.query('select 1 from vitalsync.ledger where profile_id = $1 for update', [id])
  await other.query(`set deadlock_timeout = '10s'; begin`)
  await lock(bob)

  // The writer locks ada and waits for bob; then we ask for ada: Postgres ends the writer's transaction.
  const storing = Promise.all(
    people.map((profileId) => writer.store(scoresReading({ profileId, sentAtMs, records: good }))),
  )
  await expect.poll(() => countLockWaiters(rows), soon).toBe(1)
  await lock(ada)
  await other.query('commit')

  expect(await storing).toMatchObject([{ written: 2 }, { written: 2 }])
  await other.end()
})
