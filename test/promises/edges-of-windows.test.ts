import { expect } from 'vitest'
import { HOUR } from '../../src/window.ts'
import { test } from '../support/pipeline.ts'
import { json } from '../support/profile-stub.ts'
import { daysAgo, daysAgoMs, scoreOf } from '../support/records.ts'

const range = { from: daysAgoMs(70), to: daysAgoMs(10), streams: ['scores'] }
const at = (days: number, laterMs: number) => scoreOf(days, 0.5, { scoreDateTime: daysAgo(days, laterMs) })

for (const reads of ['inclusive', 'exclusive'] as const) {
  test(`records on the seams of windows are there once, with an upstream whose end is ${reads}`, async ({
    open,
    peer,
  }) => {
    const line = await open('postgres')
    await line.people('ada')
    // On the seams of 30-day windows, and a millisecond to either side.
    const inside = [at(70, 0), at(70, 1), at(40, -1), at(40, 0), at(40, 1), at(10, -1)]
    peer.give('ada', 'scores', inside)
    const before = peer.before
    peer.before = async (seen) => {
      const url = new URL(seen.path, peer.url)
      if (reads === 'inclusive' || !url.pathname.includes('/score/')) return before(seen)
      const [start = 0, end = 0] = ['startDateTime', 'endDateTime'].map((name) =>
        Date.parse(url.searchParams.get(name) ?? ''),
      )
      const told = inside.filter(({ scoreDateTime }) => {
        const when = Date.parse(scoreDateTime)
        return when >= start && when < end
      })
      return json(200, told)
    }
    line.work()

    for (let times = 0; times < 2; times += 1) {
      await line.tick('backfill', { ...range, again: true })
      await line.idle()
    }

    const found = await line.rows('select revision, gone_at, count(*)::int as n from vitalsync.scores group by 1, 2')
    expect(found).toEqual([{ revision: 1, gone_at: null, n: inside.length }])
  })
}

test('days of 23, 24 and 25 hours, in any offset, and a change of zone, each stay a day', async ({ open, peer }) => {
  const line = await open('postgres')
  await line.people('ada')
  const days = [
    ['2026-03-29T00:00:00+01:00', '2026-03-29'], // spring: 23 hours long
    ['2026-03-30T00:00:00+02:00', '2026-03-30'],
    ['2026-10-25T00:00:00+02:00', '2026-10-25'], // autumn: 25 hours long
    ['2026-10-26T00:00:00+01:00', '2026-10-26'],
    ['2026-05-01T00:00:00+14:00', '2026-05-01'],
    ['2026-05-01T00:00:00-12:00', '2026-05-01'], // the same day again, after a flight across the date line
    ['2026-05-02T00:00:00-12:00', '2026-05-02'],
  ] as const
  const records = days.map(([scoreDateTime]) => scoreOf(0, 0.5, { scoreDateTime, createdAt: scoreDateTime }))
  peer.give('ada', 'scores', records)
  line.work()

  await line.tick('backfill', { from: Date.parse('2026-03-01T00:00:00Z'), to: daysAgoMs(5), streams: ['scores'] })
  await line.idle()

  const found = await line.rows('select local_date::text as day from vitalsync.scores order by score_date_time')
  const expected = [...days].sort((a, b) => Date.parse(a[0]) - Date.parse(b[0]))
  expect(found).toEqual(expected.map(([, day]) => ({ day })))
})

test('what comes late, is revised or vanishes before it settles is right in the end', async ({ open, peer }) => {
  const line = await open('postgres')
  await line.people('ada')
  const recent = (hours: number, value: number) =>
    scoreOf(0, value, { scoreDateTime: new Date(Date.now() - hours * HOUR).toISOString() })
  const [stays, revised, vanishes, late] = [recent(60, 0.1), recent(48, 0.2), recent(30, 0.3), recent(40, 0.4)]
  peer.give('ada', 'scores', [stays, revised, vanishes])
  line.work()
  await line.tick('sync', { streams: ['scores'] })
  await line.idle()

  peer.give('ada', 'scores', [stays, { ...revised, value: 0.9 }, late])
  await line.tick('sync', { streams: ['scores'] })
  await line.idle()

  const found = await line.rows('select value, revision, gone_at is not null as gone from vitalsync.scores order by 1')
  expect(found).toEqual([
    { value: 0.1, revision: 1, gone: false },
    { value: 0.3, revision: 2, gone: true },
    { value: 0.4, revision: 1, gone: false },
    { value: 0.9, revision: 2, gone: false },
  ])
})
