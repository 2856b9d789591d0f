/**
 * Facts about the whole fleet, not about one process. One process at a time asks for it, and all share the answer;
 * processes of different versions do so during a rolling restart, so a fact may be missing.
 */

import { z } from 'zod'
import { lanes } from './budget.ts'

const count = z.number().nonnegative()
const seconds = z.number()

const laneFactsSchema = z.object({
  lane: z.enum(lanes),
  waiting: count,
  active: count,
  delayed: count,
  /** How long the job that waits the longest has been waiting. */
  oldestSeconds: seconds,
})

const laneTroubleSchema = z.object({
  lane: z.enum(lanes),
  reason: z.string(),
  sinceAt: z.string(),
  untilAt: z.string().nullable(),
  attempts: count,
})

/** Asked every few seconds. */
export const quickFactsSchema = z.object({
  due: count,
  dueOldestSeconds: seconds,
  /** Changes with every job that ends and every reading that is stored; `sinceMs`: when it last changed, or had no reason to. */
  progress: z.object({ mark: z.string(), sinceMs: z.number() }),
  /** Why upstream refuses the account. */
  halted: z.string().nullable(),
  tokenGeneration: z.number().nullable(),
  lastNightlyMs: z.number().nullable(),
  runs: z.array(z.object({ kind: z.string(), ageSeconds: seconds, left: count })),
  outbox: z.array(z.object({ stream: z.string(), items: count, oldestSeconds: seconds })),
  workers: count,
  troubles: z.array(laneTroubleSchema),
  /** Null: the queue did not answer. */
  queue: z.array(laneFactsSchema).nullable(),
  slots: z.array(z.object({ schedule: z.string(), missed: count, overdueSeconds: seconds })),
})

/** Asked every few minutes: they look at every profile. */
export const slowFactsSchema = z.object({
  profiles: z.array(z.object({ state: z.string(), count })),
  /** Per stream, how many profiles lag by at most each of the bounds, and how many there are. */
  lags: z.array(
    z.object({ stream: z.string(), profiles: count, coveredWithin: z.array(count), readWithin: z.array(count) }),
  ),
  refusals: z.array(z.object({ stream: z.string(), count })),
  failures: z.array(z.object({ job: z.string(), count })),
  /** People by the kind of their silence, each kind once. */
  silent: z.array(z.object({ kind: z.string(), count })),
  quarantine: z.array(z.object({ direction: z.string(), stream: z.string(), count })),
  drift: z.array(z.object({ stream: z.string(), count })),
  verified: z.object({ windows: count, differing: count, rateFrom: z.number(), rate: z.number() }),
  tables: z.array(z.object({ table: z.string(), bytes: count })).readonly(),
  databaseBytes: count,
})

export type QuickFacts = Readonly<z.infer<typeof quickFactsSchema>>
export type SlowFacts = Readonly<z.infer<typeof slowFactsSchema>>
export type LaneFacts = Readonly<z.infer<typeof laneFactsSchema>>

/** The bounds of the lags, in seconds: six hours, one to four days, a week, two weeks, 30 days. */
export const lagBoundsSeconds: readonly number[] = [6, 24, 26, 48, 72, 96, 168, 336, 720].map((hours) => hours * 3600)
