import { expect } from 'vitest'
import { DAY, HOUR } from '../../../../src/base/time/units.ts'
import { readKnownCoverage } from '../../../../src/pipeline/warehouse/reports/coverage-report.ts'
import { readDayReports } from '../../../../src/pipeline/warehouse/reports/day-report.ts'
import { createReports } from '../../../../src/pipeline/warehouse/reports/status-report.ts'
import { streamByName } from '../../../support/stream-by-name.ts'
import { scoresReading, test, wantedFromMs } from '../../../support/test-warehouse.ts'

test('a window that waits for a second reading counts as read, and not as covered', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { outbox, writer, pool, rows, startedAtMs } = warehouse
  const stream = streamByName('tags')
  const window = { startMs: wantedFromMs, endMs: startedAtMs }
  const day = startedAtMs - 20 * DAY
  const read = (generation: number) =>
    writer.store(scoresReading({ profileId: ada, stream, window, generation, sentAtMs: Date.now(), records: [] }))
  const shares = async () => {
    const [report] = await createReports({ pool }).streamReports(['tags'])
    return [report?.coveredShare ?? 0, report?.readShare ?? 0]
  }
  await read(0)
  const [coveredBefore = 0, readBefore = 0] = await shares()
  expect(readBefore).toBeGreaterThan(0.99)
  await outbox.add([
    { profileId: ada, stream: 'tags', itemKey: 'a', body: '{}', startAtMs: day, endAtMs: day + 10 * DAY },
  ])
  const { parcels } = await outbox.readWaiting(ada, 'tags')
  await outbox.markSent({ profileId: ada, stream: 'tags', parcels })
  await rows("update vitalsync.ledger set touched_at = statement_timestamp() - $1::float8 * interval '1 ms'", [
    2 * HOUR,
  ])

  await read(1)

  const [covered = 0, readShare = 0] = await shares()
  expect(covered).toBeLessThan(coveredBefore)
  expect(readShare).toBeGreaterThan(0.99)
})

test('time of people who were never read counts as wanted, and not as read', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada', 'bob', 'cyd')
  const { pool, rows, writer, startedAtMs } = warehouse
  const stream = streamByName('tags')
  const window = { startMs: wantedFromMs, endMs: startedAtMs }
  const shareOf = async () => (await createReports({ pool }).streamReports(['tags']))[0]?.readShare
  expect(await shareOf()).toBe(0)

  await writer.store(
    scoresReading({ profileId: ada, stream, window, generation: 0, sentAtMs: Date.now(), records: [] }),
  )
  expect(await shareOf()).toBeCloseTo(1 / 3, 2)
  await rows('update vitalsync.profiles set wanted_from = now() where id <> $1', [ada])
  expect(await shareOf()).toBeGreaterThan(0.99)
})

test('status, days, why and gaps take the settle time of a stream from one column', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { pool, rows, startedAtMs } = warehouse
  const wantedFrom = new Date(startedAtMs - 40 * DAY)
  await rows('update vitalsync.profiles set wanted_from = $1', [wantedFrom])
  await rows('update vitalsync.ledger set read_at = now()')
  await rows(`update vitalsync.day_streams set settle_ms = $1 where stream = 'scores'`, [10 * DAY])
  const day = (ago: number) => new Date(startedAtMs - ago * DAY).toISOString().slice(0, 10)
  const why = async (stream: string, ago: number) => {
    const [report] = await readDayReports(pool, { profileId: ada, localDate: day(ago), streams: [stream] })
    return report?.state
  }
  const unsettledDays = async (stream: string) => {
    const [found] = await rows(
      `select count(*)::int as n from warehouse.days where stream = $1 and state = 'unsettled'`,
      [stream],
    )
    return found?.['n']
  }

  const [report] = await createReports({ pool }).streamReports(['scores'])
  expect(report?.readShare).toBeCloseTo((10 * DAY + HOUR) / (40 * DAY), 3)
  expect([await why('scores', 9), await why('scores', 12)]).toEqual(['unsettled', 'never_read'])
  expect([await why('demographics', 2), await why('demographics', 12)]).toEqual(['never_read', 'never_read'])
  expect(await unsettledDays('scores')).toBeOneOf([11, 12])
  expect(await unsettledDays('demographics')).toBeOneOf([1, 2])
  const known = await readKnownCoverage(
    { pool, streams: [streamByName('scores'), streamByName('demographics')] },
    { afterId: '0', limit: 9 },
  )
  expect(known.map(({ stream, settleMs }) => [stream, settleMs])).toEqual([
    ['demographics', 0],
    ['scores', 10 * DAY],
  ])
})
