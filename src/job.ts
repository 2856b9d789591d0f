import type { z } from 'zod'
import type { Lane } from './budget.ts'
import type { Log } from './log.ts'
import type { Upstream } from './upstream/client.ts'
import type { Ledger } from './warehouse/ledger.ts'
import type { Outbox } from './warehouse/outbox.ts'
import type { Profiles } from './warehouse/profiles.ts'
import type { Writer } from './warehouse/writer.ts'

/** All that a job is given, and all it may do. Nothing in a job reaches for a clock, a socket, a timer or chance itself. */
export type JobContext = {
  readonly upstream: Omit<Upstream, 'api' | 'close'>
  readonly ledger: Pick<Ledger, 'plan' | 'refuse'>
  readonly outbox: Outbox
  readonly profiles: Pick<Profiles, 'add' | 'registering' | 'registeringMs' | 'setState' | 'erase'>
  readonly writer: Pick<Writer, 'store'>
  /** Takes everything about a person out of the queue, but what is being worked on. */
  forgetJobs(profileId: string): Promise<number>
  /** Milliseconds since 1970 by the database's clock, which orders readings. */
  now(): number
  readonly signal: AbortSignal
  readonly lane: Lane
  readonly runId: string | undefined
  /** No further attempt will follow: what still fails now is written down with its reason instead of thrown. */
  readonly lastAttempt: boolean
  /** The job was told to wait so often while others got on that being told so again counts as a failure. */
  readonly waitsOver?: boolean
  readonly settings: JobSettings
  readonly log: Log
}

export type JobSettings = {
  /** How far back a newly found profile is wanted. */
  readonly historyMs: number
  /** How many windows one job reads at once. */
  readonly windowsAtOnce: number
}

/** What a job did, in numbers: what the worker logs and the run adds up. */
export type Counts = {
  readonly requests: number
  readonly rowsRead: number
  readonly rowsWritten: number
  readonly itemsPushed: number
  /** Windows and items that upstream would not take or give. They wait for a person, or for their next try. */
  readonly refused: number
}

export const nothing: Counts = { requests: 0, rowsRead: 0, rowsWritten: 0, itemsPushed: 0, refused: 0 }

export function add(a: Counts, b: Counts): Counts {
  return {
    requests: a.requests + b.requests,
    rowsRead: a.rowsRead + b.rowsRead,
    rowsWritten: a.rowsWritten + b.rowsWritten,
    itemsPushed: a.itemsPushed + b.itemsPushed,
    refused: a.refused + b.refused,
  }
}

export type Job<P extends z.ZodType = z.ZodType> = {
  readonly name: string
  readonly payload: P
  /** How often a failure is tried again before it is left to the sweep. Waiting for a token or the budget uses up none. */
  readonly attemptsMax: number
  readonly timeoutMs: number
  run(payload: z.output<P>, context: JobContext): Promise<Counts>
}

export const defineJob = <P extends z.ZodType>(job: Job<P>): Job<P> => Object.freeze(job)

/** What a job is to do, besides for whom: jobs of one name, person and scope are the same job. */
export function scopeOf(payload: unknown): string {
  if (typeof payload !== 'object' || payload === null) return ''
  const rest = Object.entries(payload).filter(([name]) => name !== 'profileId')
  return rest.length === 0 ? '' : JSON.stringify(rest.sort(([a], [b]) => (a < b ? -1 : 1)))
}
