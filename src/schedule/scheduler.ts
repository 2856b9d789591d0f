import cron, { type ScheduledTask } from 'node-cron'
import type { Schedule } from '../../config/schedules.ts'
import type { Log } from '../log.ts'
import type { Run, Runs } from '../warehouse/runs.ts'
import { MINUTE } from '../window.ts'
import { lastSlotBefore } from './slots.ts'

export type SchedulerOptions = {
  readonly schedules: readonly Schedule[]
  readonly runs: Runs
  readonly now: () => number
  /** Enqueues everybody who is due in the run. Called once per slot in all schedulers together. */
  readonly produce: (run: Run, signal: AbortSignal) => Promise<void>
  readonly log: Log
}

export type Scheduler = {
  /** When each schedule ticks next. */
  next(): Array<{ name: string; at: Date | null }>
  close(): Promise<void>
}

/** After how long without a sign of life another scheduler takes a run over. */
const TAKE_OVER_MS = 2 * MINUTE

/**
 * Cron says when, a row says that it happened: of any number of schedulers one takes a slot. A slot that nobody was there
 * for is made up once, and a run whose producer died is carried on from the page it had reached.
 */
export async function startScheduler(options: SchedulerOptions): Promise<Scheduler> {
  const stop = new AbortController()
  const underWay = new Set<Promise<void>>()
  const follow = (work: Promise<void>) => {
    const noted = work.catch((error: Error) => {
      if (!stop.signal.aborted)
        options.log.error({ err: error.message }, 'a tick failed; the next one plans the same work again')
    })
    underWay.add(noted)
    void noted.finally(() => underWay.delete(noted))
  }
  const take = async (schedule: Schedule, slotAt: Date) => {
    const run = await options.runs.claimSlot(schedule.name, slotAt)
    if (run) await options.produce(run, stop.signal)
  }

  cron.setLogger(quiet(options.log))
  const tasks = options.schedules.map((schedule) => {
    const tick = () => {
      const slotAt = lastSlotBefore(task, options.now() + 30_000, 2 * MINUTE)
      if (slotAt) follow(take(schedule, slotAt))
    }
    const task: ScheduledTask = cron.createTask(schedule.cron, tick, {
      name: schedule.name,
      timezone: schedule.timeZone,
      suppressMissedWarning: true,
    })
    return { schedule, task }
  })
  for (const { schedule, task } of tasks) follow(makeUp(schedule, task, options, take))
  const carryOn = async () => {
    for (const run of await options.runs.unproduced(TAKE_OVER_MS)) await options.produce(run, stop.signal)
  }
  follow(carryOn())
  const timer = setInterval(() => follow(carryOn()), TAKE_OVER_MS)
  for (const { task } of tasks) await task.start()

  return {
    next: () => tasks.map(({ schedule, task }) => ({ name: schedule.name, at: task.getNextRun() })),
    async close() {
      stop.abort()
      clearInterval(timer)
      for (const { task } of tasks) await task.destroy()
      await Promise.all(underWay)
    },
  }
}

async function makeUp(
  schedule: Schedule,
  task: ScheduledTask,
  { runs, now, log }: SchedulerOptions,
  take: (schedule: Schedule, slotAt: Date) => Promise<void>,
): Promise<void> {
  if (schedule.makeUpMs === 0) return
  const missed = lastSlotBefore(task, now(), schedule.makeUpMs)
  const last = await runs.lastSlot(schedule.name)
  // Before the first slot ever there is nothing to have been missed.
  if (!missed || !last || last.getTime() >= missed.getTime()) return
  log.info({ schedule: schedule.name, slotAt: missed.toISOString() }, 'making up a missed slot')
  await take(schedule, missed)
}

const quiet = (log: Log) => ({
  info: (message: string) => log.debug(message),
  warn: (message: string) => log.debug(message),
  debug: () => undefined,
  error: (message: string | Error) => log.error(String(message)),
})
