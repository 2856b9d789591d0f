import { metrics, trace } from '@opentelemetry/api'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { expect, onTestFinished, test } from 'vitest'
import { createLog } from '../../../src/base/log.ts'
import { HOUR } from '../../../src/base/time/units.ts'
import { createSlotClaimer, startScheduler } from '../../../src/pipeline/schedule/scheduler.ts'
import { openOverdueSlots } from '../../../src/pipeline/schedule/slot-watch.ts'
import { createTimetable, type Schedule } from '../../../src/pipeline/schedule/timetable.ts'
import type { Run } from '../../../src/pipeline/warehouse/runs/stored-runs.ts'

const nightly: Schedule = { name: 'nightly', cron: '30 2 * * *', timeZone: 'UTC', makeUpMs: 25 * HOUR }
const weekly: Schedule = { ...nightly, cron: '30 2 * * 1' }
const sweep: Schedule = { name: 'sweep', cron: '*/10 * * * *', timeZone: 'UTC', makeUpMs: 0, firstAtOnce: true }
const silent = createLog({ level: 'silent' })

const runOf = (kind: string, slotAt: Date): Run => ({
  id: '1',
  kind,
  params: { slotAt: slotAt.toISOString() },
  form: 1,
  state: 'running',
  startedAt: slotAt,
  endedAt: null,
  enqueued: 0,
  enqueuedAll: false,
  afterId: '0',
  done: 0,
  failed: 0,
  refused: 0,
  requests: 0,
  unchanged: 0,
  rowsRead: 0,
  rowsWritten: 0,
  itemsPushed: 0,
  itemsPushedElsewhere: 0,
})

/** Slots in memory: each is claimed once. */
function slotsAfter(last: string | undefined) {
  const claimed: string[] = last === undefined ? [] : [last]
  return {
    claimed,
    lastSlot: async () => {
      const newest = claimed.toSorted().at(-1)
      return newest === undefined ? undefined : new Date(newest)
    },
    async claimSlot(kind: string, slotAt: Date): Promise<Run | undefined> {
      const at = slotAt.toISOString()
      if (claimed.includes(at)) return undefined
      claimed.push(at)
      return runOf(kind, slotAt)
    },
  }
}

const DAY_BEFORE = '2026-03-09T02:30:00.000Z'
const MONDAY = '2026-03-09T02:30:00.000Z'

test.each([
  ['half a minute before its time a slot is not claimed', nightly, DAY_BEFORE, '2026-03-10T02:29:29.999Z', undefined],
  [
    'from then on it is, for clocks differ a little',
    nightly,
    DAY_BEFORE,
    '2026-03-10T02:29:30Z',
    '2026-03-10T02:30:00.000Z',
  ],
  [
    'a slot that was claimed is not claimed again',
    nightly,
    '2026-03-10T02:30:00.000Z',
    '2026-03-10T02:31:00Z',
    undefined,
  ],
  [
    'the first slot ever may be two minutes late',
    nightly,
    undefined,
    '2026-03-10T02:31:30Z',
    '2026-03-10T02:30:00.000Z',
  ],
  ['the first slot ever is not made up later', nightly, undefined, '2026-03-10T02:31:31Z', undefined],
  ['a missed slot is made up within its time', weekly, '2026-03-02T02:30:00.000Z', '2026-03-10T03:29:29Z', MONDAY],
  [
    'a missed slot is not made up after its time',
    weekly,
    '2026-03-02T02:30:00.000Z',
    '2026-03-10T03:29:30Z',
    undefined,
  ],
  [
    'a slot that is never made up may be two minutes late',
    sweep,
    '2026-03-10T10:00:00.000Z',
    '2026-03-10T10:11:29Z',
    '2026-03-10T10:10:00.000Z',
  ],
  ['and no later', sweep, '2026-03-10T10:00:00.000Z', '2026-03-10T10:11:30Z', undefined],
  [
    'a sweep that never was takes its newest slot',
    sweep,
    undefined,
    '2026-03-10T10:18:00Z',
    '2026-03-10T10:10:00.000Z',
  ],
  [
    'and one that is hours apart as well',
    { ...sweep, cron: '0 */12 * * *' },
    undefined,
    '2026-03-10T10:18:00Z',
    '2026-03-10T00:00:00.000Z',
  ],
] as const)('%s', async (_, schedule, last, now, expected) => {
  const runs = slotsAfter(last)
  const claim = createSlotClaimer(createTimetable(schedule), { runs, now: () => Date.parse(now), log: silent })

  expect((await claim())?.params['slotAt']).toBe(expected)
})

test('a slot whose claim failed is found by the next search, and claimed once', async () => {
  const runs = slotsAfter(DAY_BEFORE)
  const outages = [new Error('no connection'), undefined]
  const claimSlot: typeof runs.claimSlot = async (kind, slotAt) => {
    const outage = outages.shift()
    if (outage) throw outage
    return runs.claimSlot(kind, slotAt)
  }
  const now = () => Date.parse('2026-03-10T02:30:10Z')
  const claim = createSlotClaimer(createTimetable(nightly), { runs: { ...runs, claimSlot }, now, log: silent })

  await expect(claim()).rejects.toThrow('no connection')
  expect((await claim())?.params['slotAt']).toBe('2026-03-10T02:30:00.000Z')
  expect(await claim()).toBeUndefined()
})

/** A claim at a time, with the lines that it logs and the missed slots that it counts. */
async function claimAt(now: string, runs: ReturnType<typeof slotsAfter>, schedule: Schedule = nightly) {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const provider = new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter })] })
  metrics.setGlobalMeterProvider(provider)
  const { log, lines } = logOf('info')
  const claim = createSlotClaimer(createTimetable(schedule), { runs, now: () => Date.parse(now), log })
  const run = await claim()
  await provider.forceFlush()
  const counted = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics))
  await provider.shutdown()
  metrics.disable()
  const missed = counted.flatMap(({ descriptor, dataPoints }) =>
    dataPoints.map(({ value, attributes }) => ({ [descriptor.name]: value, ...attributes })),
  )
  return { run, missed, logged: lines.map((line) => JSON.parse(line)) }
}

function logOf(level: 'info' | 'error') {
  const lines: string[] = []
  return { lines, log: createLog({ level, destination: { write: (line) => void lines.push(line) } }) }
}

test.each([
  ['on time, after the one before', DAY_BEFORE, '2026-03-10T02:30:10Z', []],
  ['on time, after a night without', '2026-03-08T02:30:00.000Z', '2026-03-10T02:30:10Z', [1]],
  ['hours late, after the one before', DAY_BEFORE, '2026-03-10T07:00:00Z', [1]],
  ['hours late, after two nights without', '2026-03-07T02:30:00.000Z', '2026-03-10T07:00:00Z', [3]],
  ['late at the very first', undefined, '2026-03-10T02:31:30Z', []],
])(
  'a nightly %s is counted with those that were missed, and logged where it is late',
  async (name, last, now, missed) => {
    const claimed = await claimAt(now, slotsAfter(last))

    expect(claimed.run).toBeDefined()
    expect(claimed.missed).toEqual(missed.map((count) => ({ 'vitalsync.slots.missed': count, schedule: 'nightly' })))
    const late = { schedule: 'nightly', slotAt: '2026-03-10T02:30:00.000Z', msg: 'making up a missed slot' }
    expect(claimed.logged).toMatchObject(name.startsWith('hours late') ? [late] : [])
  },
)

test('a first slot that is taken late is logged as such, and none counts as missed before it', async () => {
  const claimed = await claimAt('2026-03-10T10:18:00Z', slotsAfter(undefined), sweep)

  expect(claimed.missed).toEqual([])
  expect(claimed.logged).toMatchObject([{ schedule: 'sweep', msg: 'taking the first slot at once' }])
})

test('a missed slot that another scheduler claims at the same time is counted and logged there alone', async () => {
  const runs = { ...slotsAfter('2026-03-07T02:30:00.000Z'), claimSlot: async () => undefined }

  expect(await claimAt('2026-03-10T07:00:00Z', runs)).toEqual({ run: undefined, missed: [], logged: [] })
})

type Produce = (run: Run, signal: AbortSignal) => Promise<void>

/** A scheduler at the time of a nightly, whose run it produces at once. */
function startAtSlot(produce: Produce, { timeZone = 'UTC', log = silent } = {}) {
  return startScheduler({
    schedules: [{ ...nightly, timeZone }],
    runs: slotsAfter(DAY_BEFORE),
    now: () => Date.parse('2026-03-10T02:30:10Z'),
    produce,
    recoverRuns: async () => undefined,
    log,
  })
}

test('a scheduler that closes aborts the producer of its run, and waits until it has ended', async () => {
  const [begun, aborted, lastPage] = [0, 1, 2].map(() => Promise.withResolvers<void>())
  const events: string[] = []
  const scheduler = await startAtSlot(async (_, signal) => {
    signal.addEventListener('abort', () => aborted?.resolve())
    begun?.resolve()
    await lastPage?.promise
    events.push('ended')
  })
  await begun?.promise

  const closed = scheduler.close().then(() => events.push('closed'))
  await aborted?.promise
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate)
  lastPage?.resolve()
  await closed

  expect(events).toEqual(['ended', 'closed'])
})

test('a tick that fails is logged, but not one that fails because the scheduler closes', async () => {
  const { log, lines } = logOf('error')
  const failing = await startAtSlot(() => Promise.reject(new Error('no connection')), { log })
  await failing.close()
  expect(lines.join('')).toContain('no connection')

  lines.length = 0
  const closing = await startAtSlot(
    (_, signal) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    { log },
  )
  await closing.close()

  expect(lines).toEqual([])
})

test('the work of a tick is one span, which names the schedule', async () => {
  const spans = new InMemorySpanExporter()
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }))
  onTestFinished(() => trace.disable())
  const scheduler = await startAtSlot(async () => undefined)
  await scheduler.close()

  expect(spans.getFinishedSpans()).toMatchObject([{ name: 'tick', attributes: { schedule: 'nightly' } }])
})

test('ticks come by the time of the zone of the schedule', async () => {
  const scheduler = await startAtSlot(async () => undefined, { timeZone: 'Asia/Tokyo' })
  const [next] = scheduler.nextTicks()
  await scheduler.close()

  expect(next?.at?.toISOString().slice(11)).toBe('17:30:00.000Z')
})

test.each([
  ['2026-03-10T10:11:59Z', 0, 0],
  ['2026-03-10T10:12:00Z', 1, 120],
  ['2026-03-10T10:21:59Z', 1, 719],
  ['2026-03-10T10:32:00Z', 3, 1320],
])('at %s %d slots are overdue, the first of them for %d s', async (now, missed, overdueSeconds) => {
  const slots = openOverdueSlots([sweep], { lastSlot: async () => new Date('2026-03-10T10:00:00Z') })
  expect(await slots.find(Date.parse(now))).toEqual([{ schedule: 'sweep', missed, overdueSeconds }])
  await slots.close()
})

test('a schedule that never had a slot has none overdue', async () => {
  const slots = openOverdueSlots([sweep], { lastSlot: async () => undefined })
  expect(await slots.find(Date.now())).toEqual([{ schedule: 'sweep', missed: 0, overdueSeconds: 0 }])
  await slots.close()
})
