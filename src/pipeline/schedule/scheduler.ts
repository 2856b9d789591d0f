import { metrics } from '@opentelemetry/api'
import cron from 'node-cron'
import type { Log } from '../../base/log.ts'
import { withSpan } from '../../base/monitoring/traced-work.ts'
import { MINUTE, SECOND } from '../../base/time/units.ts'
import type { Run, Runs } from '../warehouse/runs/stored-runs.ts'
import { LATE_MS, LOOK_BACK_MAX_MS, newestSlotSince, slotsBetween } from './slots.ts'
import { createTask, createTimetable, type Schedule, type ScheduleTimetable } from './timetable.ts'

type SchedulerOptions = {
  readonly schedules: readonly Schedule[]
  readonly runs: Pick<Runs, 'lastSlot' | 'claimSlot'>
  readonly now: () => number
  /** Enqueues the profiles that are due in the run. Called once per slot, whatever the number of schedulers. */
  readonly produce: (run: Run, signal: AbortSignal) => Promise<void>
  /** Recovers the runs that showed no life for `idleMs`. */
  readonly recoverRuns: (idleMs: number, signal: AbortSignal) => Promise<void>
  readonly log: Log
}

export type Scheduler = Awaited<ReturnType<typeof startScheduler>>

/** How long a run may show no life before another scheduler takes it over. */
const TAKEOVER_MS = 2 * MINUTE

/**
 * Cron lines say when a slot is, a row in the warehouse says that it was claimed: of any number of schedulers one claims a
 * slot. Every scheduler searches each minute for a slot that is not claimed, so a slot that was missed,
 * for whatever reason, is made up once. A run whose producer died is continued from the page it had reached.
 */
export async function startScheduler(options: SchedulerOptions) {
  const work = createBackgroundWork(options.log)
  cron.setLogger(cronLoggerOf(options.log))
  const timetables = options.schedules.map((schedule) => createTimetable(schedule))
  const claimers = timetables.map((timetable) => {
    const claimSlot = createSlotClaimer(timetable, options)
    return async () => {
      const run = await claimSlot()
      if (!run) return
      const { name: schedule } = timetable.schedule
      work.start((signal) => withSpan('tick', { schedule }, () => options.produce(run, signal)))
    }
  })
  // The search of each minute claims the slots: these tasks only say when they tick next.
  const ticks = timetables.map(({ schedule }) => createTask(schedule.cron, schedule.timeZone))
  const claimAll = () => {
    for (const claim of claimers) work.start(claim)
  }
  const minute = createTask('* * * * *', 'UTC', claimAll)
  const recover = () => work.start((signal) => options.recoverRuns(TAKEOVER_MS, signal))

  await Promise.all(claimers.map((claim) => claim()))
  recover()
  const timer = setInterval(recover, TAKEOVER_MS)
  await minute.start()

  return {
    /** When each schedule ticks next. */
    nextTicks: () =>
      timetables.map(({ schedule }, index) => ({ name: schedule.name, at: ticks[index]?.getNextRuns(1)[0] })),
    async close() {
      clearInterval(timer)
      work.abort()
      for (const task of [...ticks, minute, ...timetables.map(({ matcher }) => matcher)]) await task.destroy()
      await work.ended()
    },
  }
}

/** Promises that are awaited only at the close. A failure is logged: the next tick plans the same work again. */
function createBackgroundWork(log: Log) {
  const stop = new AbortController()
  const underWay = new Set<Promise<void>>()
  return {
    start(begin: (signal: AbortSignal) => Promise<void>) {
      const logged = begin(stop.signal).catch((error: Error) => {
        if (!stop.signal.aborted)
          log.error({ err: error.message }, 'a tick failed; the next one plans the same work again')
      })
      underWay.add(logged)
      void logged.finally(() => underWay.delete(logged))
    },
    abort: () => stop.abort(),
    ended: () => Promise.all(underWay),
  }
}

/** Claims the newest slot that is not claimed yet, if there is one. */
export function createSlotClaimer(
  { schedule, timetable }: ScheduleTimetable,
  { runs, now, log }: Pick<SchedulerOptions, 'runs' | 'now' | 'log'>,
) {
  const missedSlots = metrics.getMeter('vitalsync.schedule').createCounter('vitalsync.slots.missed')
  const madeUpMs = Math.max(schedule.makeUpMs, LATE_MS)
  const searchedMs = schedule.firstAtOnce ? LOOK_BACK_MAX_MS : madeUpMs
  let searchedToMs = Number.NEGATIVE_INFINITY
  return async (): Promise<Run | undefined> => {
    const nowMs = now() + 30 * SECOND // the nearest minute: clocks may differ a little
    const sinceMs = Math.max(searchedToMs, nowMs - searchedMs)
    const slotAt = newestSlotSince(timetable, sinceMs, nowMs)
    const run = slotAt && (await claim(slotAt, nowMs))
    // Only after the claim: if it fails, the next search finds the slot again.
    searchedToMs = Math.floor(nowMs / MINUTE) * MINUTE
    return run
  }

  async function claim(slotAt: Date, nowMs: number): Promise<Run | undefined> {
    const last = await runs.lastSlot(schedule.name)
    const ageMs = nowMs - slotAt.getTime()
    const isLate = ageMs > LATE_MS
    // A schedule that never had a slot has missed none.
    if (last === undefined ? isLate && !schedule.firstAtOnce : last >= slotAt || ageMs >= madeUpMs) return undefined
    const run = await runs.claimSlot(schedule.name, slotAt)
    if (run && last !== undefined) {
      const missed = slotsBetween(timetable, last.getTime(), slotAt.getTime()).length + (isLate ? 1 : 0)
      if (missed > 0) missedSlots.add(missed, { schedule: schedule.name })
    }
    if (run && isLate) {
      const taken = last === undefined ? 'taking the first slot at once' : 'making up a missed slot'
      log.info({ schedule: schedule.name, slotAt: slotAt.toISOString() }, taken)
    }
    return run
  }
}

const cronLoggerOf = (log: Log) => ({
  info: (message: string) => log.debug(message),
  warn: (message: string) => log.debug(message),
  debug: () => undefined,
  error: (message: string | Error) => log.error(String(message)),
})
