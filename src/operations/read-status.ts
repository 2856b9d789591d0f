import { pulledStreams } from '../../config/streams.ts'
import { sqlState } from '../base/postgres/postgres-errors.ts'
import { formatCount, formatMinute } from '../base/text/readable.ts'
import { type BudgetLimits, type BudgetStore, lanes } from '../pipeline/fleet/budget.ts'
import type { LaneTrouble } from '../pipeline/fleet/lane-troubles.ts'
import { measuredRateOf } from '../pipeline/ledger/measured-rate.ts'
import type { QueueEngine } from '../pipeline/queue/engine.ts'
import { createEnqueuer } from '../pipeline/queue/enqueue.ts'
import { findUnservedParts } from '../pipeline/queue/served-parts.ts'
import { listAddedColumns } from '../pipeline/warehouse/added-columns.ts'
import type { Pool } from '../pipeline/warehouse/postgres/warehouse-pool.ts'
import { countDrift } from '../pipeline/warehouse/reports/drift-report.ts'
import { countSilentDifferences } from '../pipeline/warehouse/reports/lateness-report.ts'
import { createReports } from '../pipeline/warehouse/reports/status-report.ts'
import { createLiveWorkers } from '../pipeline/warehouse/runs/live-workers.ts'
import { createRuns } from '../pipeline/warehouse/runs/stored-runs.ts'
import { countLiveWorkers } from './processes/worker-heartbeat.ts'

export type StatusReport = Awaited<ReturnType<typeof readStatus>>
type StatusSources = { pool: Pool; engine: QueueEngine; budgetStore: BudgetStore }

export async function readStatus({ pool, engine, budgetStore }: StatusSources, limits: BudgetLimits) {
  const reports = createReports({ pool })
  const names = pulledStreams.map(({ name }) => name)
  const order = new Map<string, number>(names.map((name, index) => [name, index]))
  const orderOf = ({ stream }: { stream: string }) => order.get(stream) ?? order.size
  return {
    at: new Date(),
    profiles: await reports.countProfiles(),
    streams: (await reports.streamReports(names)).sort((a, b) => orderOf(a) - orderOf(b)),
    runs: await createRuns({ pool }).listNewestOfKinds(),
    queue: await readQueue(pool, engine),
    failures: await reports.countFailures(),
    outbox: await reports.countWaiting(),
    quarantine: await reports.countQuarantined(),
    drift: await countDrift(pool),
    columns: await listUnfilledColumns(pool),
    silent: await countSilentDifferences(pool),
    verified: withRate(await reports.countVerified()),
    budget: await readBudget(budgetStore, limits),
  }
}

const listUnfilledColumns = async (pool: Pool) =>
  (await listAddedColumns(pool)).flatMap(({ stream, name, filledRows, tableRows, filledAt }) =>
    filledAt === null ? [{ stream, name, filledRows, tableRows }] : [],
  )

/** The measured rate of silent differences; no rate before a window was verified. */
function withRate<C extends { windows: number; windowsDiffering: number }>(counts: C) {
  const rates = counts.windows > 0 ? measuredRateOf(counts.windowsDiffering, counts.windows) : undefined
  return { ...counts, rate: null, rateFrom: null, rateUpTo: null, ...rates }
}

const noJobs = { waiting: 0, active: 0, delayed: 0 }
/** The first process that works on a queue in Postgres makes its tables. */
const unusedQueue = {
  ...{ nightly: noJobs, manual: noJobs, backfill: noJobs },
  ...{ workers: 0, formerParts: [], unservedParts: [], troubles: [] },
}
const TABLE_MISSING = '42P01'

async function readQueue(pool: Pool, engine: QueueEngine) {
  const jobs = await readJobs(pool, engine).catch((error: unknown) => {
    if (sqlState(error) !== TABLE_MISSING) throw error
    return unusedQueue
  })
  return { engine: engine.kind, parts: engine.parts, ...jobs }
}

async function readJobs(pool: Pool, engine: QueueEngine) {
  const queue = createEnqueuer(engine)
  const liveWorkers = createLiveWorkers({ pool })
  return {
    nightly: await queue.backlog('nightly'),
    manual: await queue.backlog('manual'),
    backfill: await queue.backlog('backfill'),
    workers: await countLiveWorkers({ engine, liveWorkers }),
    formerParts: await engine.formerParts(),
    unservedParts: await findUnservedParts(engine),
    troubles: mostTelling(await liveWorkers.listTroubles(await engine.queueId())),
  }
}

/** The budget of the fleet now; before any worker has run, the limits with which the fleet will start. */
async function readBudget(budgetStore: BudgetStore, limits: BudgetLimits) {
  const { requestsPerSecond, inFlight, pausedUntil } = await readBudgetInUse(budgetStore, limits)
  return { requestsPerSecond, inFlight, pausedUntil }
}

/** The same, and how much of it all processes use at this moment. */
export async function readBudgetInUse(budgetStore: BudgetStore, limits: BudgetLimits) {
  const { budget, nowMs, members } = await budgetStore.read()
  const { requestsPerSecond, inFlight } = budget ?? limits
  return {
    requestsPerSecond: Number.isFinite(requestsPerSecond) ? requestsPerSecond : null,
    inFlight,
    pausedUntil: budget && budget.pausedUntilMs > nowMs ? new Date(budget.pausedUntilMs) : null,
    answersPerSecond: members.reduce((sum, member) => sum + member.answersPerSecond, 0),
  }
}

/** The first trouble of the workers with one lane. */
const mostTelling = (troubles: readonly LaneTrouble[]): LaneTrouble[] =>
  lanes.flatMap((lane) => troubles.find((trouble) => trouble.lane === lane) ?? [])

/** One line on what keeps the workers from a lane. `waiting`: who waits, such as `3 jobs`. */
export function troubleText({ lane, reason, sinceAt, untilAt, attempts }: LaneTrouble, waiting: string): string {
  const again = untilAt === null ? 'tried again one by one' : `tried again at ${untilAt.slice(11, 19)} UTC`
  const failed = formatCount(attempts, 'attempt')
  return `no ${lane} job succeeds since ${formatMinute(new Date(sinceAt))} UTC: ${reason}; ${waiting} waiting, ${again}, ${failed} so far`
}
