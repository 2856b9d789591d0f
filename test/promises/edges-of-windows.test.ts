import { expect } from 'vitest'
import { DAY, HOUR, SECOND } from '../../src/base/time/units.ts'
import type { Peer, PeerStream } from '../support/peer.ts'
import { json } from '../support/profile-stub.ts'
import { daysAgo, daysAgoMs, scoreOf } from '../support/sample-scores.ts'
import { scores } from '../support/stream-by-name.ts'
import { type TestPipeline, test } from '../support/test-pipeline.ts'

/** Two windows of scores and of biomarkers; the boundary between them lies at a midnight. */
const range = { from: daysAgoMs(70), to: daysAgoMs(10) }
const boundaryDays = 10 + scores.windowMs / DAY

const at = (days: number, laterMs: number, value = 0.5) =>
  scoreOf(days, value, { scoreDateTime: daysAgo(days, laterMs) })

/** A biomarker from one instant to another. */
const period = (type: string, startDateTime: string, endDateTime: string, value = '1') => ({
  type,
  category: 'sleep',
  periodicity: 'daily',
  aggregation: 'total',
  startDateTime,
  endDateTime,
  value,
})

const onSeams = {
  scores: [at(70, 0), at(70, 1), at(boundaryDays, -1), at(boundaryDays, 0), at(boundaryDays, 1), at(10, -1)],
  biomarkers: [
    period('starts at the start', daysAgo(70), daysAgo(69)),
    period('reaches over the start', daysAgo(71), daysAgo(70, 1)),
    period('ends at the boundary', daysAgo(boundaryDays + 1), daysAgo(boundaryDays)),
    period('ends a second before the boundary', daysAgo(boundaryDays + 1), daysAgo(boundaryDays, -SECOND)),
    period('lies across the boundary', daysAgo(boundaryDays, -6 * HOUR), daysAgo(boundaryDays, 18 * HOUR)),
    period('a week across the boundary', daysAgo(boundaryDays + 3), daysAgo(boundaryDays - 4)),
    period('starts at the boundary', daysAgo(boundaryDays), daysAgo(boundaryDays - 1)),
    period('ends at the end', daysAgo(11), daysAgo(10)),
  ],
}

/** Lets upstream read the end of a window as exclusive: a record that only begins there is not sent. */
function endsAreExclusive(peer: Peer, externalId: string, stream: keyof typeof onSeams): void {
  const path = { scores: '/profile/score/', biomarkers: '/profile/biomarker/' }[stream]
  const before = peer.before
  peer.before = async (seen) => {
    const { pathname, searchParams } = new URL(seen.path, peer.url)
    if (!pathname.endsWith(path + externalId)) return before(seen)
    const [start = 0, end = 0] = ['startDateTime', 'endDateTime'].map((name) =>
      Date.parse(searchParams.get(name) ?? ''),
    )
    const expectedRecords = onSeams[stream].filter((record) => {
      const from = Date.parse('scoreDateTime' in record ? String(record.scoreDateTime) : record.startDateTime)
      const to = 'endDateTime' in record ? Date.parse(record.endDateTime) : from
      return from < end && (to > start || from >= start)
    })
    return expectedRecords.length === 0 ? { status: 204 } : json(200, expectedRecords)
  }
}

for (const stream of ['scores', 'biomarkers'] as const) {
  for (const reads of ['inclusive', 'exclusive'] as const) {
    test(`${stream} on the boundaries of windows are there once, with an upstream whose end is ${reads}`, async ({
      open,
      peer,
    }) => {
      const line = await open('postgres')
      await line.addProfiles('ada')
      peer.give('ada', stream, onSeams[stream])
      if (reads === 'exclusive') endsAreExclusive(peer, 'ada', stream)
      line.work()

      for (let times = 0; times < 2; times += 1) {
        await line.tick('backfill', { ...range, streams: [stream], again: true })
        await line.idle()
      }

      const found = await line.rows(
        `select revision, gone_at, count(*)::int as n from vitalsync.${stream} group by 1, 2`,
      )
      expect(found).toEqual([{ revision: 1, gone_at: null, n: onSeams[stream].length }])
      expect(await line.rows('select 1 from vitalsync.history')).toEqual([])
      // The windows lie side by side: nothing between them is left out, and nothing is asked for twice.
      const asked = peer
        .asked(stream)
        .slice(0, 2)
        .map(([, start, end]) => [start, end])
      expect(asked.sort()).toEqual([
        [daysAgo(70), daysAgo(boundaryDays)],
        [daysAgo(boundaryDays), daysAgo(10)],
      ])
    })
  }
}

const nowMs = Math.floor(Date.now() / SECOND) * SECOND
const ago = (ms: number) => new Date(nowMs - ms).toISOString()
const hoursAgo = (hours: number, value: number) => scoreOf(0, value, { scoreDateTime: ago(hours * HOUR) })
/** Shows that upstream sends records that began before a window. */
const companion = period('light', ago(80 * HOUR), ago(56 * HOUR))
const across = (value: string) => period('deep', ago(80 * HOUR), ago(56 * HOUR), value)
/** Upstream's records at a first reading and at a second one. Settled spans end 72 hours before the first. */
type Fate = {
  readonly name: string
  readonly stream: PeerStream
  readonly first: readonly object[]
  readonly after: readonly object[]
  /** Value, revision and whether it is gone, by value. */
  readonly expected: ReadonlyArray<readonly [number | string, number, boolean]>
}

const fates: readonly Fate[] = [
  { name: 'late by hours', stream: 'scores', first: [], after: [hoursAgo(5, 0.1)], expected: [[0.1, 1, false]] },
  { name: 'late by days', stream: 'scores', first: [], after: [hoursAgo(70, 0.2)], expected: [[0.2, 1, false]] },
  // Beyond the settle time nobody looks again by himself: `backfill --again` does.
  { name: 'late by a week', stream: 'scores', first: [], after: [hoursAgo(168, 0.3)], expected: [] },
  {
    name: 'revised',
    stream: 'scores',
    first: [hoursAgo(48, 0.4)],
    after: [hoursAgo(48, 0.5)],
    expected: [[0.5, 2, false]],
  },
  { name: 'vanished', stream: 'scores', first: [hoursAgo(30, 0.6)], after: [], expected: [[0.6, 2, true]] },
  {
    name: 'exactly where what has settled ends, and after it',
    stream: 'scores',
    first: [hoursAgo(72, 0.7), hoursAgo(71, 0.8)],
    after: [hoursAgo(72, 0.7), hoursAgo(71, 0.8)],
    expected: [
      [0.7, 1, false],
      [0.8, 1, false],
    ],
  },
  {
    name: 'revised across the edge of what has settled',
    stream: 'biomarkers',
    first: [across('1'), companion],
    after: [across('2'), companion],
    expected: [
      ['1', 1, false],
      ['2', 2, false],
    ],
  },
  {
    name: 'vanished across the edge of what has settled',
    stream: 'biomarkers',
    first: [across('3'), companion],
    after: [companion],
    expected: [
      ['1', 1, false],
      ['3', 2, true],
    ],
  },
]

async function syncBoth(line: TestPipeline): Promise<void> {
  await line.tick('sync', { streams: ['scores', 'biomarkers'] })
  await line.idle()
}

test('late, revised and vanished records are right after the next reading', async ({ open, peer }) => {
  const line = await open('postgres')
  const ids = await line.addProfiles(...fates.map(({ name }) => name))
  for (const { name, stream, first } of fates) peer.give(name, stream, first)
  line.work()
  await syncBoth(line)

  for (const { name, stream, after } of fates) peer.give(name, stream, after)
  await syncBoth(line)

  for (const [index, { name, stream, expected }] of fates.entries()) {
    const found = await line.rows(
      `select value, revision, gone_at is not null as gone from vitalsync.${stream} where profile_id = $1 order by 1`,
      [ids[index]],
    )
    expect(
      found.map(({ value, revision, gone }) => [value, revision, gone]),
      name,
    ).toEqual(expected)
  }
})

/** A day as upstream dates it: start, end, and the day that it is where the person lives. */
const days = [
  ['the night the clocks went forward in Berlin: 23 hours', '2026-03-29T00:00:00+01:00', '2026-03-30T00:00:00+02:00'],
  ['the day after it', '2026-03-30T00:00:00+02:00', '2026-03-31T00:00:00+02:00'],
  ['the night they went back: 25 hours', '2025-10-26T00:00:00+02:00', '2025-10-27T00:00:00+01:00'],
  ['the day after that', '2025-10-27T00:00:00+01:00', '2025-10-28T00:00:00+01:00'],
  ['forward in New York', '2026-03-08T00:00:00-05:00', '2026-03-09T00:00:00-04:00'],
  ['half an hour on Lord Howe Island', '2026-04-05T00:00:00+11:00', '2026-04-06T00:00:00+10:30'],
  ['a leap day', '2024-02-29T00:00:00Z', '2024-03-01T00:00:00Z'],
  ['a leap day that begins first of all', '2024-02-29T00:00:00+14:00', '2024-03-01T00:00:00+14:00'],
  ['a leap day that ends last of all', '2024-02-29T00:00:00-12:00', '2024-03-01T00:00:00-12:00'],
  ['the first of May on Kiritimati', '2026-05-01T00:00:00+14:00', '2026-05-02T00:00:00+14:00'],
  ['the same day again, after a flight across the date line', '2026-05-01T00:00:00-12:00', '2026-05-02T00:00:00-12:00'],
  ['the day after, for someone who changed zone', '2026-05-02T00:00:00-12:00', '2026-05-03T00:00:00-11:00'],
  ['the last day of a year, said with an odd offset', '2025-12-31T00:00:00+05:45', '2026-01-01T00:00:00+05:45'],
] as const

test('days of any length, in any offset, and after a change of zone, each stay one day', async ({ open, peer }) => {
  const line = await open('postgres')
  await line.addProfiles('ada')
  const starts = days.map(([, scoreDateTime]) => scoreOf(0, 0.5, { scoreDateTime, createdAt: scoreDateTime }))
  const whole = days.map(([, start, end]) => period('steps', start, end))
  peer.give('ada', 'scores', starts)
  peer.give('ada', 'biomarkers', whole)
  line.work()

  for (let times = 0; times < 2; times += 1) {
    const all = { from: Date.parse('2024-02-01T00:00:00Z'), to: daysAgoMs(5), streams: ['scores', 'biomarkers'] }
    await line.tick('backfill', { ...all, again: true })
    await line.idle()
  }

  const expected = [...days]
    .sort((a, b) => Date.parse(a[1]) - Date.parse(b[1]))
    .map(([, start, end]) => ({ day: start.slice(0, 10), hours: (Date.parse(end) - Date.parse(start)) / HOUR }))
  const found = await line.rows(
    `select local_date::text as day, (extract(epoch from end_date_time - start_date_time) / 3600)::float8 as hours
     from vitalsync.biomarkers where gone_at is null order by start_date_time`,
  )
  expect(found).toEqual(expected)
  const scored = await line.rows('select local_date::text as day from vitalsync.scores order by score_date_time')
  expect(scored).toEqual(expected.map(({ day }) => ({ day })))
  expect(await line.rows('select 1 from vitalsync.history')).toEqual([])
})
