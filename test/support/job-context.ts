import { createLog } from '../../src/base/log.ts'
import { DAY } from '../../src/base/time/units.ts'
import type { PlannedProfile } from '../../src/pipeline/transfer/planned-profile.ts'
import type { DueWindow, UpstreamAnswer } from '../../src/pipeline/transfer/reading.ts'
import type { JobContext } from '../../src/pipeline/work/job.ts'
import { scores } from './stream-by-name.ts'

export const adaPlanned: PlannedProfile = { profileId: '7', externalId: 'ada', state: 'active', waiting: [] }

/** Consecutive windows of a day each. */
export const dueDays = (count: number, more: Partial<DueWindow> = {}): DueWindow[] =>
  Array.from({ length: count }, (_, day) => ({
    stream: scores,
    window: { startMs: day * DAY, endMs: (day + 1) * DAY },
    generation: 1,
    ...more,
  }))

export const readingOf = (more: Partial<UpstreamAnswer> = {}): UpstreamAnswer => ({
  records: [],
  invalid: [],
  sentAtMs: 1,
  serverAtMs: 1,
  word: undefined,
  tag: undefined,
  unchanged: false,
  ...more,
})

/** A part of the context that the job must not touch: each use is an error. */
const untouched = <T extends object>(name: string): T =>
  new Proxy({} as T, {
    get: (_, method) => () => {
      throw new Error(`${name}.${String(method)} is not part of this test`)
    },
  })

/** A context in which everything that a test does not hand in is out of bounds. */
export function contextWith(given: Partial<JobContext> = {}): JobContext {
  return {
    upstream: untouched('upstream'),
    ledger: untouched('ledger'),
    outbox: untouched('outbox'),
    profiles: untouched('profiles'),
    writer: untouched('writer'),
    verification: untouched('verification'),
    forgetJobs: async () => 0,
    now: () => 100 * DAY,
    pause: async () => undefined,
    signal: new AbortController().signal,
    lane: 'manual',
    runId: '9',
    lastAttempt: false,
    waitsExhausted: false,
    settings: { historyMs: 30 * DAY, windowsAtOnce: 4, secondReadingMs: 1000 },
    log: createLog({ level: 'silent' }),
    ...given,
  }
}

/** A part of the context with these methods alone. */
export const partOf = <T>(methods: Partial<T>): T => ({ ...untouched<T & object>('this'), ...methods }) as T
