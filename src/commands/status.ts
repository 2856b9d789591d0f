import { streams } from '../../config/streams.ts'
import { type BudgetBoard, type BudgetLimits, lanes } from '../budget.ts'
import { openQueueEngine, type QueueEngine } from '../queue/engine.ts'
import { createEnqueuer } from '../queue/enqueue.ts'
import type { Pool } from '../warehouse/pool.ts'
import { openReports } from '../warehouse/reports.ts'
import { SECOND } from '../window.ts'
import type { CommandContext } from './engines.ts'
import { requireQueue, withWarehouse } from './open.ts'
import { openBoard } from './pipeline.ts'
import { minute, runsTable } from './runs.ts'
import { duration, many, number, type Paint, shaded, table } from './terminal.ts'

const RUNS_SHOWN = 5
/** A member that only looks: it asks for no share. */
const WATCHER = 'status'

/** How things stand: lag, freshness, last runs, backlog, failures by reason, budget. */
export async function status(context: CommandContext): Promise<number> {
  const { terminal } = context
  const found = await withWarehouse(context, async (pool, { queueUrl, closing }) => {
    const engine = closing.add(await openQueueEngine(queueUrl), 'queue')
    await requireQueue(engine)
    return read(
      { pool, engine, board: closing.add(openBoard(engine, pool, queueUrl), 'budget') },
      context.config.budget,
    )
  })
  if (terminal.json) terminal.printJson(found)
  else terminal.print(lines(found, terminal.paint).join('\n'))
  return 0
}

type Status = Awaited<ReturnType<typeof read>>
type Sources = { pool: Pool; engine: QueueEngine; board: BudgetBoard }

async function read({ pool, engine, board }: Sources, limits: BudgetLimits) {
  const reports = openReports({ pool })
  const order = new Map<string, number>(streams.map(({ name }, index) => [name, index]))
  const placeOf = ({ stream }: { stream: string }) => order.get(stream) ?? order.size
  return {
    at: new Date(),
    profiles: await reports.people(),
    streams: (await reports.streams()).sort((a, b) => placeOf(a) - placeOf(b)),
    runs: await reports.runs(RUNS_SHOWN),
    queue: await readQueue(engine),
    failures: await reports.failures(),
    outbox: await reports.outbox(),
    quarantine: await reports.quarantine(),
    budget: await readBudget(board, limits),
  }
}

async function readQueue(engine: QueueEngine) {
  const queue = createEnqueuer(engine)
  return {
    engine: engine.kind,
    nightly: await queue.backlog('nightly'),
    manual: await queue.backlog('manual'),
    backfill: await queue.backlog('backfill'),
    workers: await engine.queue('manual').getWorkersCount(),
  }
}

/** What the fleet goes by now; before any fleet was there, the limits it will begin with. */
async function readBudget(board: BudgetBoard, limits: BudgetLimits) {
  const none = { nightly: 0, manual: 0, backfill: 0 }
  const line = { member: WATCHER, holds: 0, demand: none, waiting: none, answersPerSecond: 0, latencyMs: 0 }
  const { state, nowMs } = await board.exchange(line)
  await board.leave(WATCHER)
  const { requestsPerSecond, inFlight } = state ?? limits
  return {
    requestsPerSecond: Number.isFinite(requestsPerSecond) ? requestsPerSecond : null,
    inFlight,
    pausedUntil: state && state.pausedUntilMs > nowMs ? new Date(state.pausedUntilMs) : null,
  }
}

const SETTLING =
  'A day counts as covered when it has settled; until then it is read again every night, and the lag counts from it.'

function lines(found: Status, paint: Paint): string[] {
  const { profiles, streams: each, runs, queue, failures, outbox, quarantine, budget } = found
  const { new: fresh, active, gone, due } = profiles
  return [
    `Profiles: ${number(active)} active, ${number(fresh)} new, ${number(gone)} gone upstream; ${number(due)} due now`,
    '',
    table(
      ['stream', 'covered', 'lag (median)', 'lag (max)', 'oldest reading', 'never read'],
      each.map((one) => [
        one.stream,
        `${(one.coveredShare * 100).toFixed(1)} %`,
        duration(one.lagSecondsMedian * SECOND),
        duration(one.lagSecondsMax * SECOND),
        minute(one.oldestReadAt) || 'never',
        one.neverRead,
      ]),
    ),
    SETTLING,
    '',
    runs.length === 0 ? 'No run yet.' : runsTable(runs, paint),
    '',
    `Queue (${queue.engine}, ${queue.workers === 0 ? paint('odd', 'no worker') : many(queue.workers, 'worker')}): ${lanes
      .map((lane) => `${lane} ${number(queue[lane].waiting + queue[lane].active + queue[lane].delayed)}`)
      .join(', ')}`,
    `Waiting to be pushed: ${outbox.map(({ stream, waiting }) => `${number(waiting)} ${stream}`).join(', ') || 'nothing'}`,
    `Quarantine: ${quarantine.map(({ direction, stream, count }) => `${number(count)} ${stream} (${direction})`).join(', ') || 'empty'}`,
    `Budget: ${budget.requestsPerSecond === null ? 'any number of' : number(Math.round(budget.requestsPerSecond))} requests a second, ${number(budget.inFlight)} in flight${budget.pausedUntil ? `, paused until ${budget.pausedUntil.toISOString()}` : ''}`,
    '',
    failures.length === 0
      ? 'No failures.'
      : table(
          ['failures', 'of', 'newest', 'reason'],
          failures.map((one) => [
            shaded(one.count, 'bad'),
            `${one.kind} ${one.subject}`,
            minute(one.newestAt),
            one.reason,
          ]),
          paint,
        ),
  ]
}
