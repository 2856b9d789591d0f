import cron, { type ScheduledTask } from 'node-cron'
import type { Schedule } from '../../config/schedules.ts'
import type { Log } from '../log.ts'
import { offsetIn } from '../time-zone.ts'
import type { Run, Runs } from '../warehouse/runs.ts'
import { MINUTE, SECOND } from '../window.ts'
import { lastSlot, leavesHourOpen, type Timetable } from './slots.ts'

export type SchedulerOptions = {
  readonly schedules: readonly Schedule[]
  readonly runs: Runs
  readonly now: () => number
  /** Enqueues everybody who is due in the run. Called once per slot in all schedulers together. */
  readonly produce: (run: Run, signal: AbortSignal) => Promise<void>
  /** Looks after runs that nothing was heard of for this long: asks again for what the queue has lost, or ends them. */
  readonly settle: (idleMs: number, signal: AbortSignal) => Promise<void>
  readonly log: Log
}

export type Scheduler = {
  /** When each schedule ticks next. */
  next(): Array<{ name: string; at: Date | null }>
  close(): Promise<void>
}

/** After how long without a sign of life another scheduler takes a run over. */
const TAKE_OVER_MS = 2 * MINUTE
/** A slot that is this late counts as missed. */
const LATE_MS = 2 * MINUTE

/**
 * Cron says when, a row says that it happened: of any number of schedulers one takes a slot. Every minute each looks for
 * a slot that nobody has taken, so that one that was missed, for whatever reason, is made up once; and a run whose
 * producer died is carried on from the page it had reached.
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
  const carryOn = async () => {
    await options.settle(TAKE_OVER_MS, stop.signal)
    for (const run of await options.runs.unproduced(TAKE_OVER_MS)) await options.produce(run, stop.signal)
  }

  cron.setLogger(quiet(options.log))
  const tables = options.schedules.map((schedule) => openTimetable(schedule))
  const looks = tables.map(({ schedule, timetable }) => {
    const look = createLook({ schedule, timetable }, options)
    return async () => {
      const run = await look()
      if (run) follow(options.produce(run, stop.signal))
    }
  })
  const ticks = tables.map(({ schedule }, index) => {
    const tick = () => follow(looks[index]?.() ?? Promise.resolve())
    return createTask(schedule.cron, tick, { name: schedule.name, timezone: schedule.timeZone })
  })
  const minute = createTask('* * * * *', () => looks.map((look) => follow(look())), { name: 'look', timezone: 'UTC' })
  const tasks = [...ticks, minute, ...tables.map(({ matcher }) => matcher)]

  await Promise.all(looks.map((look) => look()))
  follow(carryOn())
  const timer = setInterval(() => follow(carryOn()), TAKE_OVER_MS)
  for (const task of [...ticks, minute]) await task.start()

  return {
    next: () => tables.map(({ schedule }, index) => ({ name: schedule.name, at: ticks[index]?.getNextRun() ?? null })),
    async close() {
      stop.abort()
      clearInterval(timer)
      for (const task of tasks) await task.destroy()
      await Promise.all(underWay)
    },
  }
}

const createTask = (line: string, tick: () => void, options: { name: string; timezone: string }): ScheduledTask =>
  cron.createTask(line, tick, { ...options, suppressMissedWarning: true })

type Table = { schedule: Schedule; timetable: Timetable }

/** The cron library says what a line matches; a task in UTC says it of the wall clock's own figures. */
function openTimetable(schedule: Schedule): Table & { matcher: ScheduledTask } {
  const matcher = createTask(schedule.cron, () => undefined, { name: `${schedule.name} lines`, timezone: 'UTC' })
  const timetable = {
    matches: (wall: Date) => matcher.match(wall),
    everyHour: leavesHourOpen(schedule.cron),
    offsetMs: offsetIn(schedule.timeZone),
  }
  return { schedule, timetable, matcher }
}

/** Looks for the newest slot that nobody has taken yet, and takes it. */
function createLook({ schedule, timetable }: Table, { runs, now, log }: SchedulerOptions) {
  let lookedToMs = Number.NEGATIVE_INFINITY
  return async (): Promise<Run | undefined> => {
    const nowMs = now() + 30 * SECOND // the nearest minute: clocks may be a little apart
    const sinceMs = Math.max(lookedToMs, nowMs - Math.max(schedule.makeUpMs, LATE_MS))
    const slotAt = lastSlot(timetable, sinceMs, nowMs)
    const run = slotAt && (await take(slotAt, nowMs))
    // Only now: what could not be taken is looked for again.
    lookedToMs = Math.floor(nowMs / MINUTE) * MINUTE
    return run
  }

  async function take(slotAt: Date, nowMs: number): Promise<Run | undefined> {
    const last = await runs.lastSlot(schedule.name)
    const isLate = nowMs - slotAt.getTime() > LATE_MS
    // Before the first slot ever there is nothing to have been missed.
    if (last === undefined ? isLate : last >= slotAt) return undefined
    const run = await runs.claimSlot(schedule.name, slotAt)
    if (run && isLate) log.info({ schedule: schedule.name, slotAt: slotAt.toISOString() }, 'making up a missed slot')
    return run
  }
}

const quiet = (log: Log) => ({
  info: (message: string) => log.debug(message),
  warn: (message: string) => log.debug(message),
  debug: () => undefined,
  error: (message: string | Error) => log.error(String(message)),
})
