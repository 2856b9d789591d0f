import { expect, test } from 'vitest'
import { MINUTE, SECOND } from '../../../src/base/time/units.ts'
import type { QuickFacts } from '../../../src/pipeline/fleet/fleet-facts.ts'
import {
  CLOCK_OFF_MS,
  ENGINE_SILENT_MS,
  findUnready,
  NO_PROGRESS_MS,
  unreadyReasons,
} from '../../../src/pipeline/fleet/readiness.ts'

const nowMs = Date.parse('2026-03-10T03:00:00Z')
const idle: QuickFacts = {
  due: 0,
  dueOldestSeconds: 0,
  progress: { mark: '1.1', sinceMs: nowMs },
  halted: null,
  tokenGeneration: 1,
  lastNightlyMs: null,
  runs: [],
  outbox: [],
  workers: 1,
  troubles: [],
  queue: [{ lane: 'nightly', waiting: 0, active: 0, delayed: 0, oldestSeconds: 0 }],
  slots: [],
}
const well = {
  nowMs,
  isStopping: false,
  databaseAnsweredAtMs: nowMs - ENGINE_SILENT_MS,
  queueAnsweredAtMs: nowMs - ENGINE_SILENT_MS,
  skewMs: -CLOCK_OFF_MS,
  halted: undefined,
  facts: idle,
}
const lane = (waiting: number, active: number, delayed = 0) => [
  { lane: 'nightly', waiting, active, delayed, oldestSeconds: 0 } as const,
]
const silentSince = (ms: number) => ({ mark: '1.1', sinceMs: nowMs - ms })
const trouble = (ageMs: number) => [
  {
    lane: 'nightly',
    reason: 'call scoresOf: 503',
    sinceAt: new Date(nowMs - ageMs).toISOString(),
    untilAt: null,
    attempts: 3,
  } as const,
]

test.for([
  ['nothing to do and everything answers', {}, []],
  ['no answer since the start', { databaseAnsweredAtMs: undefined }, ['starting']],
  ['stopping', { isStopping: true, halted: 'x' }, ['stopping']],
  ['the warehouse away', { databaseAnsweredAtMs: nowMs - ENGINE_SILENT_MS - 1 }, ['database']],
  ['the queue away', { queueAnsweredAtMs: nowMs - ENGINE_SILENT_MS - 1 }, ['queue']],
  ['a clock off', { skewMs: CLOCK_OFF_MS + 1 }, ['clock']],
  ['a clock off the other way', { skewMs: -CLOCK_OFF_MS - 1 }, ['clock']],
  ['own jobs met a refused account', { halted: 'account halted' }, ['account']],
  ['others met a refused account', { facts: { ...idle, halted: 'refused' } }, ['account']],
  ['work that gets less', { facts: { ...idle, queue: lane(5, 1), progress: silentSince(NO_PROGRESS_MS - 1) } }, []],
  ['work that does not', { facts: { ...idle, queue: lane(5, 1), progress: silentSince(NO_PROGRESS_MS) } }, ['work']],
  ['jobs that hang', { facts: { ...idle, queue: lane(0, 1), progress: silentSince(MINUTE) } }, ['work']],
  ['only retries that wait', { facts: { ...idle, queue: lane(0, 0, 5), progress: silentSince(MINUTE) } }, []],
  [
    'retries of a lane in trouble',
    { facts: { ...idle, queue: lane(0, 0, 5), troubles: trouble(30 * SECOND) } },
    ['work'],
  ],
  ['a trouble of a moment', { facts: { ...idle, queue: lane(0, 0, 5), troubles: trouble(29 * SECOND) } }, []],
  ['a trouble of a lane without work', { facts: { ...idle, troubles: trouble(MINUTE) } }, []],
] as const)('%s', ([, state, reasons]) => {
  expect(findUnready({ ...well, ...state } as Parameters<typeof findUnready>[0]).map(({ reason }) => reason)).toEqual(
    reasons,
  )
})

test('the text says which work stands still, since when, and whether a worker lives', () => {
  const facts = { ...idle, workers: 0, queue: lane(5, 0), progress: silentSince(MINUTE) }

  expect(findUnready({ ...well, facts })).toEqual([
    {
      reason: 'work',
      text: 'nothing was done for 60 s: 5 nightly jobs wait, 0 are under way, and no worker shows life',
    },
  ])
  expect(findUnready({ ...well, facts: { ...facts, troubles: trouble(MINUTE) } })[0]?.text).toBe(
    'no nightly job succeeds since 2026-03-10T02:59:00Z: call scoresOf: 503',
  )
})

test('everything that is wrong is said, the reason that explains the others first', () => {
  const facts = { ...idle, halted: 'refused by upstream', queue: lane(5, 0), progress: silentSince(MINUTE) }
  const all = { databaseAnsweredAtMs: nowMs - 21_400, queueAnsweredAtMs: nowMs - 90_600, skewMs: -12_000, facts }

  expect(findUnready({ ...well, ...all })).toEqual([
    { reason: 'database', text: 'the warehouse has not answered for 21 s' },
    { reason: 'queue', text: 'the queue has not answered for 91 s' },
    { reason: 'clock', text: "this machine's clock is 12 s off the database's" },
    { reason: 'account', text: 'refused by upstream' },
    { reason: 'work', text: 'nothing was done for 60 s: 5 nightly jobs wait, 0 are under way' },
  ])
  expect(findUnready({ ...well, ...all, halted: 'met by our own jobs' })[3]?.text).toBe('met by our own jobs')
  expect(findUnready({ ...well, isStopping: true })).toEqual([{ reason: 'stopping', text: 'this process is stopping' }])
})

test('an engine that never answered is still starting, and the other one may be away', () => {
  const starting = { reason: 'starting', text: 'warehouse and queue have not answered since the start' }

  expect(findUnready({ ...well, queueAnsweredAtMs: undefined })).toEqual([starting])
  expect(findUnready({ ...well, databaseAnsweredAtMs: undefined, queueAnsweredAtMs: undefined })).toEqual([starting])
  expect(findUnready({ ...well, databaseAnsweredAtMs: undefined, queueAnsweredAtMs: 0 })).toMatchObject([
    starting,
    { reason: 'queue' },
  ])
  expect(unreadyReasons).toEqual(['starting', 'stopping', 'database', 'queue', 'clock', 'account', 'work'])
})

test('without facts of the fleet, or while the queue does not answer, nothing is said about its work', () => {
  expect(findUnready({ ...well, facts: undefined })).toEqual([])
  const unknown = { ...idle, queue: null, troubles: trouble(MINUTE), progress: silentSince(MINUTE) }
  expect(findUnready({ ...well, facts: unknown })).toEqual([])
})

test('lanes without work are left out of the text, and a trouble elsewhere does not explain a standstill', () => {
  const lanes = [
    ...lane(0, 0),
    { lane: 'manual', waiting: 2, active: 1, delayed: 0, oldestSeconds: 0 } as const,
    { lane: 'backfill', waiting: 0, active: 0, delayed: 4, oldestSeconds: 0 } as const,
  ]
  const facts = { ...idle, queue: lanes, troubles: trouble(MINUTE), progress: silentSince(MINUTE) }

  expect(findUnready({ ...well, facts })).toEqual([
    {
      reason: 'work',
      text: 'nothing was done for 60 s: 2 manual jobs wait, 1 are under way, 0 backfill jobs wait, 0 are under way',
    },
  ])
})

test('a trouble of jobs that run or wait is said though others get on', () => {
  for (const queue of [lane(1, 0), lane(0, 1), lane(0, 0, 1)])
    expect(findUnready({ ...well, facts: { ...idle, queue, troubles: trouble(MINUTE) } })).toHaveLength(1)
})

/** In plain numbers: the alerts and the documents name them. */
test.for([
  ['an engine is away after 20 s', { databaseAnsweredAtMs: nowMs - 20_000 }, { databaseAnsweredAtMs: nowMs - 20_001 }],
  ['the queue too', { queueAnsweredAtMs: nowMs - 20_000 }, { queueAnsweredAtMs: nowMs - 20_001 }],
  ['a clock is off beyond 10 s', { skewMs: 10_000 }, { skewMs: 10_001 }],
  [
    'work stands still after 40 s',
    { facts: { ...idle, queue: lane(1, 0), progress: silentSince(39_999) } },
    { facts: { ...idle, queue: lane(1, 0), progress: silentSince(40_000) } },
  ],
] as const)('%s, and not sooner', ([, before, after]) => {
  const reasons = [before, after].map((state) =>
    findUnready({ ...well, ...state } as Parameters<typeof findUnready>[0]),
  )
  expect(reasons.map((each) => each.length)).toEqual([0, 1])
})
