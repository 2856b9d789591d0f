import { metrics } from '@opentelemetry/api'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { expect } from 'vitest'
import { pulledStreams } from '../../config/streams.ts'
import type { Span } from '../../src/base/time/spans.ts'
import { DAY, HOUR } from '../../src/base/time/units.ts'
import { createSentinelRun } from '../../src/operations/processes/start-producing.ts'
import { produceRun } from '../../src/operations/produce-run.ts'
import { isReadOf } from '../support/peer.ts'
import { daysAgo, daysAgoMs, scoreOf } from '../support/sample-scores.ts'
import { queueKinds, type TestPipeline, test } from '../support/test-pipeline.ts'

const scores = pulledStreams[0]
/** The first day of one of the windows that the requests for scores have, the given number of days ago, whatever the day of the test. */
function borderNear(days: number): number {
  return days + (daysAgoMs(days) % scores.windowMs) / DAY
}
/** Scores of days in the midst of four windows. */
const [lostDay, changedDay, lateDay, soundDay] = [
  borderNear(330) - 10,
  borderNear(240) - 10,
  borderNear(150) - 10,
  borderNear(60) - 10,
]
const settings = { HISTORY_DAYS: '400' }
/** Far more than there are: the sentinel reads every covered window. */
const EVERYTHING = 1000
/** Made upstream before anything is read, so that a reading held it. */
const made = (hoursFromNow: number) => ({ createdAt: new Date(Date.now() + hoursFromNow * HOUR).toISOString() })
const sound = [
  scoreOf(lostDay, 0.1, made(-1)),
  scoreOf(changedDay, 0.2, made(-1)),
  scoreOf(soundDay, 0.3, made(-1)),
  // Beside the lost record: a reading that brought it is what shows that the lost record was there.
  scoreOf(lostDay, 0.4, { ...made(-1), type: 'activity' }),
]

/** A nightly and its sentinel, as the scheduler produces them. */
async function night({ pipeline, config, idle }: TestPipeline, sentinelShare = EVERYTHING): Promise<void> {
  const signal = AbortSignal.timeout(120_000)
  nights += 1
  const slotAt = new Date(Math.floor(Date.now() / 60_000) * 60_000 + nights * 60_000)
  const nightly = await pipeline.runs.claimSlot('nightly', slotAt)
  if (!nightly) throw new Error('the slot was claimed before')
  await produceRun({ pipeline, config, signal }, nightly, { untilAll: true })
  await idle()
  const run = await createSentinelRun({ pipeline, config: { sentinelShare } }, nightly)
  if (run) await produceRun({ pipeline, config, signal }, run, { untilAll: true })
  await idle()
}
let nights = 0

/** The program's counters, by their attributes. */
function meterOfOurOwn() {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 600_000 })
  const provider = new MeterProvider({ readers: [reader] })
  metrics.setGlobalMeterProvider(provider)
  return {
    async counts() {
      await provider.forceFlush()
      const found = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics))
      const points = found.filter(({ descriptor }) => descriptor.name.startsWith('vitalsync.verified.'))
      return Object.fromEntries(
        points.flatMap(({ dataPoints }) =>
          dataPoints.map(({ attributes, value }) => [Object.values(attributes).join(' '), value]),
        ),
      )
    },
    async close() {
      metrics.disable()
      await provider.shutdown()
    },
  }
}

for (const engine of queueKinds) {
  test(`a sentinel finds a lost row, a late change and an upstream change, says which is which, and mends them (${engine})`, async ({
    open,
    peer,
    onTestFinished,
  }) => {
    const { counts, close } = meterOfOurOwn()
    onTestFinished(close)
    const line = await open(engine, settings)
    const [ada = ''] = await line.addProfiles('ada')
    peer.give('ada', 'scores', sound)
    line.work()
    await night(line)
    expect(await line.rows('select * from vitalsync.differences')).toEqual([])
    expect(await line.rows('select 1 from vitalsync.scores')).toHaveLength(4)

    await line.rows(`delete from vitalsync.scores where type = 'sleep' and score_date_time = $1`, [daysAgo(lostDay)])
    peer.give('ada', 'scores', [
      ...sound.map((score) => (score.scoreDateTime === daysAgo(changedDay) ? { ...score, value: 0.9 } : score)),
      scoreOf(lateDay, 0.5, made(1)),
    ])
    await night(line)

    const found = await line.rows(
      `select start_at <= $2 and end_at > $2 as lost, start_at <= $3 and end_at > $3 as changed, cause, missing_here,
         differing, missing_upstream, mended_at is not null as mended
       from warehouse.differences where external_id = $1 and stream = 'scores' order by start_at`,
      ['ada', daysAgo(lostDay), daysAgo(changedDay)],
    )
    const finding = { lost: false, changed: false, missing_here: 0, differing: 0, missing_upstream: 0, mended: true }
    expect(found).toEqual([
      { ...finding, lost: true, cause: 'lost-here', missing_here: 1 },
      { ...finding, changed: true, cause: 'changed-upstream', differing: 1 },
      { ...finding, cause: 'late-upstream', missing_here: 1 },
    ])
    expect(
      await line.rows('select value from vitalsync.scores where profile_id = $1 and gone_at is null order by 1', [ada]),
    ).toEqual([0.1, 0.3, 0.4, 0.5, 0.9].map((value) => ({ value })))
    // A change by upstream is learnt from; a record that was lost here says nothing about upstream.
    expect(await line.rows('select stream, records from vitalsync.silent_differences order by id')).toEqual(
      Array.from({ length: 2 }, () => ({ stream: 'scores', records: 1 })),
    )
    const [rate] = await line.rows(`select * from warehouse.verified where stream = 'scores'`)
    expect(Number(rate?.['differing'])).toBe(3)
    expect(Number(rate?.['rate_from'])).toBeGreaterThan(0)
    expect(Number(rate?.['rate_up_to'])).toBeLessThan(1)
    const counted = await counts()
    expect(counted).toMatchObject({
      'scores differs': 3,
      'scores lost-here': 1,
      'scores changed-upstream': 1,
      'scores late-upstream': 1,
    })

    await night(line)
    expect(await line.rows(`select differing from warehouse.verified where stream = 'scores'`)).toEqual([
      { differing: '3' },
    ])
  })
}

test('a record that is lost at the border of two windows is lost-here, whichever window shows it', async ({
  open,
  peer,
}) => {
  const line = await open('postgres', settings)
  await line.addProfiles('ada')
  const border = borderNear(240)
  peer.give('ada', 'scores', [scoreOf(border, 0.1, made(-1)), scoreOf(border, 0.2, { ...made(-1), type: 'activity' })])
  line.work()
  await night(line)
  await line.rows(`delete from vitalsync.scores where type = 'sleep'`)
  const [{ id = '' } = {}] = await line.rows('select id::text as id from vitalsync.profiles')
  const borderMs = daysAgoMs(border)
  const verify = async (window: Span) => {
    const covered = { profileId: String(id), externalId: 'ada', stream: scores, window, generation: 0 }
    const options = { lane: 'manual', signal: AbortSignal.timeout(60_000) } as const
    const { causes } = await line.pipeline.context.verification.verify(covered, { options, mend: false })
    return causes
  }

  const expected = { 'lost-here': 1, 'changed-upstream': 0, 'late-upstream': 0 }
  expect(await verify({ startMs: borderMs - scores.windowMs, endMs: borderMs })).toEqual(expected)
  expect(await verify({ startMs: borderMs, endMs: borderMs + scores.windowMs })).toEqual(expected)
})

test('a sentinel reads at the lowest priority, as many windows as its share, and none when it is turned off', async ({
  open,
  peer,
}) => {
  const line = await open('postgres', settings)
  await line.addProfiles('ada', 'bob')
  peer.give('ada', 'scores', sound)
  line.work()
  await night(line, 0.001)
  const windows = await line.rows('select sum(windows)::int as windows from vitalsync.verified_windows')
  const [run] = await line.rows(`select kind, state, requests::int from vitalsync.runs where kind = 'sentinel'`)

  expect(windows).toEqual([{ windows: 3 }])
  expect(run).toEqual({ kind: 'sentinel', state: 'done', requests: 3 })
  // A profile that was only verified is not synced: what the nightly noted of it stays.
  expect(
    await line.rows('select distinct r.kind from vitalsync.profiles p join vitalsync.runs r on r.id = p.run_id'),
  ).toEqual([{ kind: 'nightly' }])
  const nightly = { id: '0', startedAt: new Date(daysAgoMs(1)), params: {} }
  expect(await createSentinelRun({ ...line, config: { sentinelShare: 0 } }, nightly)).toBeUndefined()
})

test('a window that a killed verification left unmended is due again after the next nightly', async ({
  open,
  peer,
}) => {
  const line = await open('postgres', settings)
  const [ada = ''] = await line.addProfiles('ada')
  peer.give('ada', 'scores', sound)
  line.work()
  await night(line)
  const covered = 'select covered @> $1::timestamptz as covered from vitalsync.ledger where stream = $2'
  expect(await line.rows(covered, [daysAgo(lostDay), 'scores'])).toEqual([{ covered: true }])
  await line.rows(
    `insert into vitalsync.differences values ($1, 'scores', tstzrange($2, $3), now(), 'late-upstream', 1, 0, 0, null)`,
    [ada, daysAgo(lostDay), daysAgo(lostDay - 1)],
  )

  const nightly = { id: '0', startedAt: new Date(daysAgoMs(1)), params: {} }
  await createSentinelRun({ ...line, config: { sentinelShare: 0 } }, nightly)

  expect(await line.rows(covered, [daysAgo(lostDay), 'scores'])).toEqual([{ covered: false }])
  expect(await line.rows('select 1 from vitalsync.profiles where due_at <= now()')).toHaveLength(1)
})

test('however many schedulers produce a nightly, its sentinel is one', async ({ open, peer }) => {
  const line = await open('postgres', settings)
  await line.addProfiles('ada')
  peer.give('ada', 'scores', sound)
  line.work()
  await line.tick('sync')
  await line.idle()
  const nightly = { id: '1', startedAt: new Date(), params: { slotAt: daysAgo(0) } }

  const each = { ...line, config: { sentinelShare: 0.001 } }
  const runs = await Promise.all(Array.from({ length: 4 }, () => createSentinelRun(each, nightly)))

  expect(runs.filter(Boolean)).toHaveLength(1)
})

for (const [tags, cause] of [
  [true, 'lost-here'],
  [false, 'late-upstream'],
] as const) {
  test(`a lost record that says nothing of its own age is ${cause} where upstream ${tags ? 'gives' : 'gives no'} tags`, async ({
    open,
    peer,
  }) => {
    const line = await open('postgres', settings)
    await line.addProfiles('ada')
    peer.tags = tags
    peer.give('ada', 'scores', [scoreOf(lostDay, 0.1, { createdAt: undefined })])
    line.work()
    await night(line)
    await line.rows('delete from vitalsync.scores')

    await night(line)

    expect(await line.rows('select cause, mended_at is not null as mended from warehouse.differences')).toEqual([
      { cause, mended: true },
    ])
    expect(await line.rows('select value from vitalsync.scores')).toEqual([{ value: 0.1 }])
  })
}

test('a covered window that upstream calls pending is due again, and counts neither as sound nor as different', async ({
  open,
  peer,
}) => {
  const line = await open('postgres', { ...settings, REREAD_SECONDS: '0,60' })
  await line.addProfiles('ada')
  peer.give('ada', 'scores', sound)
  line.work()
  await night(line, 0)
  const isCovered = async () => {
    const [row] = await line.rows(
      `select covered @> $1::timestamptz as covered from vitalsync.ledger where stream = 'scores'`,
      [daysAgo(lostDay)],
    )
    return row?.['covered']
  }
  expect(await isCovered()).toBe(true)

  peer.headers = { 'derivation-state': 'pending' }
  await night(line)

  expect(await isCovered()).toBe(false)
  expect(await line.rows(`select 1 from vitalsync.verified_windows where stream = 'scores'`)).toEqual([])
  expect(await line.rows('select 1 from vitalsync.differences')).toEqual([])
  expect(await line.rows('select 1 from vitalsync.profiles where due_at <= now()')).toHaveLength(1)
})

test('tags that stay the same while records change are found out, and count no more', async ({ open, peer }) => {
  const line = await open('postgres', settings)
  await line.addProfiles('ada')
  const { answer } = peer
  const headers = { etag: '"same"' }
  peer.answer = (seen) => {
    if (!isReadOf('scores')(seen)) return answer(seen)
    return seen.ifNoneMatch === '"same"' ? { status: 304, headers } : { ...answer(seen), headers }
  }
  const values = async () => (await line.rows('select value from vitalsync.scores')).map(({ value }) => value)
  const again = async () => {
    const run = await line.tick('backfill', {
      from: daysAgoMs(390),
      to: daysAgoMs(5),
      streams: ['scores'],
      again: true,
    })
    await line.idle()
    return line.pipeline.runs.get(run.id)
  }
  peer.give('ada', 'scores', [scoreOf(changedDay, 0.2)])
  line.work()
  await night(line)
  await again()
  peer.give('ada', 'scores', [scoreOf(changedDay, 0.9)])
  const misled = await again()
  expect(misled?.unchanged).toBe(misled?.requests)
  expect(await values()).toEqual([0.2])

  await night(line)

  expect(await values()).toEqual([0.9])
  expect(await line.rows(`select cause, mended_at is not null as mended from warehouse.differences`)).toEqual([
    { cause: 'changed-upstream', mended: true },
  ])
  peer.give('ada', 'scores', [scoreOf(changedDay, 0.4)])
  expect(await again()).toMatchObject({ unchanged: 0, rowsWritten: 1 })
  expect(await again()).toMatchObject({ unchanged: 0, rowsWritten: 0 })
})
