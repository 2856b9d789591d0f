import { expect } from 'vitest'
import { DAY, HOUR, MINUTE } from '../../../../src/base/time/units.ts'
import { streamByName } from '../../../support/stream-by-name.ts'
import { scoresReading, test, type Warehouse } from '../../../support/test-warehouse.ts'

const tags = streamByName('tags')

/** A person of whose tags the hour at `dayMs` was touched by a push at `touchedAtMs`. */
async function touched({ addProfiles, rows }: Warehouse, dayMs: number, touchedAtMs: number): Promise<string> {
  const [ada = ''] = await addProfiles('ada')
  await rows(
    `update vitalsync.ledger set digesting = tstzmultirange(tstzrange(to_timestamp($1::float8 / 1000), to_timestamp($2::float8 / 1000))),
       touched_at = to_timestamp($3::float8 / 1000), generation = 1 where stream = 'tags'`,
    [dayMs, dayMs + HOUR, touchedAtMs],
  )
  return ada
}

async function ledgerRow({ rows }: Warehouse, dayMs: number) {
  const [row] = await rows(
    `select extract(epoch from nullif(digested_at, '-infinity'))::float8 * 1000 as "nextMs", rereads,
       digesting @> to_timestamp($1::float8 / 1000) as digesting, covered @> to_timestamp($1::float8 / 1000) as covered
     from vitalsync.ledger where stream = 'tags'`,
    [dayMs],
  )
  return row
}

test('spans that a push touched are due from the first interval after it on', async ({ warehouse }) => {
  const touchedAtMs = warehouse.startedAtMs - 30 * MINUTE
  const dayMs = warehouse.startedAtMs - 10 * DAY
  const ada = await touched(warehouse, dayMs, touchedAtMs)
  const isDue = async (nowMs: number) => {
    const plan = await warehouse.ledger.plan({ profileId: ada, nowMs, streams: ['tags'] })
    return plan?.due.some(({ window }) => window.startMs <= dayMs && dayMs < window.endMs)
  }

  expect(await isDue(touchedAtMs + HOUR - 1)).toBe(false)
  expect(await isDue(touchedAtMs + HOUR)).toBe(true)
})

test('a part that a reading did not reach, and could have, does not make the stream due again', async ({
  warehouse,
}) => {
  const { writer, startedAtMs } = warehouse
  const dayMs = startedAtMs - 10 * DAY
  const touchedAtMs = startedAtMs - 90 * MINUTE
  const ada = await touched(warehouse, dayMs, touchedAtMs)
  const window = { startMs: dayMs + DAY, endMs: dayMs + 2 * DAY }
  const readAt = (sentAtMs: number) =>
    writer.store(scoresReading({ profileId: ada, stream: tags, window, generation: 1, sentAtMs, records: [] }))

  await readAt(touchedAtMs + HOUR - 1)
  expect(await ledgerRow(warehouse, dayMs)).toMatchObject({ digesting: true, nextMs: touchedAtMs + HOUR })

  await readAt(touchedAtMs + HOUR)
  expect(await ledgerRow(warehouse, dayMs)).toMatchObject({ digesting: true, nextMs: null })
})

test('a second push restarts the agreement of the parts that it touches, and leaves the rest unchanged', async ({
  warehouse,
}) => {
  const { writer, rows, startedAtMs } = warehouse
  const dayMs = startedAtMs - 20 * DAY
  const ada = await touched(warehouse, dayMs, startedAtMs - 10 * MINUTE)
  // Read a minute ago: a reading now is too soon to count as the next.
  const state = [startedAtMs - 15 * DAY, startedAtMs - MINUTE, 2]
  const parts = [[dayMs - HOUR, dayMs + 2 * HOUR, ...state]]
  await rows(`update vitalsync.ledger set rereads = $1::jsonb where stream = 'tags'`, [JSON.stringify(parts)])
  const window = { startMs: dayMs - DAY, endMs: dayMs + DAY }

  await writer.store(
    scoresReading({ profileId: ada, stream: tags, window, generation: 1, sentAtMs: startedAtMs, records: [] }),
  )

  expect(await ledgerRow(warehouse, dayMs)).toMatchObject({
    ...{ digesting: true, covered: false },
    rereads: [
      [dayMs - HOUR, dayMs, ...state],
      [dayMs + HOUR, dayMs + 2 * HOUR, ...state],
    ],
  })
})
