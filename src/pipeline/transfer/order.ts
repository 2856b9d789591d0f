/**
 * The form of the jobs and runs of this version. Raised when the version before cannot read a job or a run of this one: for a new job or kind
 * of run, and for changed data or params. A version reads what the version before wrote, and leaves newer forms to newer workers.
 */
export const JOB_FORM = 1

/** The task of a job, without its profile. */
export type JobParams = Readonly<Record<string, unknown>>

/** A job that a run wants done for a profile: recorded in the warehouse, then put into the queue. */
export type Order = {
  readonly runId: string
  readonly profileId: string
  readonly job: string
  readonly params: JobParams
}

/** By this orders are deduplicated: the same job with the same params for the same profile is the same work. */
export type OrderKey = Pick<Order, 'profileId' | 'job' | 'params'>

/** The work of a job, in numbers: the worker logs them, the run adds them up. */
export type JobCounts = {
  readonly requests: number
  /** Requests that upstream answered by saying that nothing has changed. */
  readonly unchanged: number
  readonly rowsRead: number
  readonly rowsWritten: number
  readonly itemsPushed: number
  /** Windows and items that upstream refused. They wait for their next try, or for an operator. */
  readonly refused: number
}

/** An order whose job has ended, done or failed: the runs add up its figures. */
export type EndedJob = Order & {
  /** When the attempt began: milliseconds since 1970 by the database's clock. */
  readonly begunAtMs: number
  readonly counts: JobCounts
}

export const noCounts: JobCounts = {
  requests: 0,
  unchanged: 0,
  rowsRead: 0,
  rowsWritten: 0,
  itemsPushed: 0,
  refused: 0,
}

export function addCounts(a: JobCounts, b: JobCounts): JobCounts {
  return {
    requests: a.requests + b.requests,
    unchanged: a.unchanged + b.unchanged,
    rowsRead: a.rowsRead + b.rowsRead,
    rowsWritten: a.rowsWritten + b.rowsWritten,
    itemsPushed: a.itemsPushed + b.itemsPushed,
    refused: a.refused + b.refused,
  }
}

/**
 * Params as one text: equal params have equal texts, whatever the order of their names. '' when there are none. The
 * column `scope` of orders and failures holds this text, and the deduplication id is made of it: the format must stay.
 */
export function paramsText(params: JobParams): string {
  const entries = Object.entries(params)
  return entries.length === 0 ? '' : JSON.stringify(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** The inverse of `paramsText`. */
export function parseParamsText(text: string): JobParams {
  const entries: Array<[string, unknown]> = text === '' ? [] : JSON.parse(text)
  return Object.fromEntries(entries)
}
