import { z } from 'zod'
import { lanes } from '../../pipeline/fleet/budget.ts'
import { count, instant, share } from './result-fields.ts'

const backlog = z.strictObject({ waiting: count, active: count, delayed: count })

/** The public shape of a run in every result that holds one. */
export const runResult = z.strictObject({
  id: z.string(),
  kind: z.string(),
  form: count,
  params: z.record(z.string(), z.unknown()),
  state: z.enum(['running', 'done', 'failed', 'stopped']),
  startedAt: instant,
  endedAt: instant.nullable(),
  enqueued: count,
  enqueuedAll: z.boolean(),
  afterId: z.string(),
  done: count,
  failed: count,
  refused: count,
  requests: count,
  unchanged: count,
  rowsRead: count,
  rowsWritten: count,
  itemsPushed: count,
  itemsPushedElsewhere: count,
})

/** The public shape of a column that was added. */
export const addedColumn = z.strictObject({
  stream: z.string(),
  name: z.string(),
  path: z.string(),
  type: z.string(),
  addedAt: instant,
  filledRows: count,
  tableRows: count,
  filledAt: instant.nullable(),
  misfits: count,
})

/** The public shape of the output of `status --json`. */
export const statusResult = z.strictObject({
  at: instant,
  profiles: z.strictObject({ new: count, active: count, gone: count, due: count }),
  streams: z.array(
    z.strictObject({
      stream: z.string(),
      profiles: count,
      coveredShare: share,
      readShare: share,
      lagSecondsMedian: z.number(),
      lagSecondsMax: z.number(),
      oldestReadAt: instant.nullable(),
      newestReadAt: instant.nullable(),
      neverRead: count,
    }),
  ),
  runs: z.array(runResult),
  queue: z.strictObject({
    engine: z.enum(['redis', 'postgres']),
    nightly: backlog,
    manual: backlog,
    backfill: backlog,
    workers: count,
    parts: count,
    formerParts: z.array(count),
    unservedParts: z.array(count),
    troubles: z.array(
      z.strictObject({
        lane: z.enum(lanes),
        reason: z.string(),
        sinceAt: instant,
        untilAt: instant.nullable(),
        attempts: count,
      }),
    ),
  }),
  failures: z.array(
    z.strictObject({
      kind: z.enum(['job', 'window']),
      subject: z.string(),
      reason: z.string(),
      count,
      newestAt: instant,
    }),
  ),
  outbox: z.array(z.strictObject({ stream: z.string(), waiting: count, oldestAt: instant.nullable() })),
  quarantine: z.array(z.strictObject({ direction: z.enum(['push', 'pull']), stream: z.string(), count })),
  drift: z.array(z.strictObject({ stream: z.string(), count })),
  columns: z.array(addedColumn.pick({ stream: true, name: true, filledRows: true, tableRows: true })),
  silent: z.array(z.strictObject({ stream: z.string(), records: count, profiles: count, newestAt: instant })),
  verified: z.strictObject({
    windows: count,
    windowsDiffering: count,
    rate: share.nullable(),
    rateFrom: share.nullable(),
    rateUpTo: share.nullable(),
    lostHere: count,
    changedUpstream: count,
    lateUpstream: count,
    mended: count,
  }),
  budget: z.strictObject({
    requestsPerSecond: z.number().nullable(),
    inFlight: count,
    pausedUntil: instant.nullable(),
  }),
})
