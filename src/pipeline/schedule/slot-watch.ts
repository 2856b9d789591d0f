import { DAY, MINUTE, SECOND } from '../../base/time/units.ts'
import type { Runs } from '../warehouse/runs/stored-runs.ts'
import { firstSlotAfter, LATE_MS, slotsBetween } from './slots.ts'
import { createTimetable, type Schedule } from './timetable.ts'

/** Null: no slot within a day. */
type NextSlot = { readonly schedule: string; readonly at: Date | null }

/** When a schedule has no slot within a day: how long until it is searched again. */
const NONE_KEPT_MS = 10 * MINUTE

/** Says, without a scheduler, when each schedule ticks next. A day has 1,440 minutes to test: a slot that was found is kept until it has passed. */
export function openNextSlots(schedules: readonly Schedule[]) {
  const timetables = schedules.map((schedule) => ({ ...createTimetable(schedule), keeps: keepSlot() }))
  return {
    find: (nowMs: number): NextSlot[] =>
      timetables.map(({ schedule, timetable, keeps }) => ({
        schedule: schedule.name,
        at: keeps(nowMs, () => firstSlotAfter(timetable, nowMs, nowMs + DAY + MINUTE) ?? null),
      })),
    async close() {
      for (const { matcher } of timetables) await matcher.destroy()
    },
  }
}

function keepSlot() {
  let kept: { readonly at: Date | null; readonly fromMs: number; readonly untilMs: number } | undefined
  return (nowMs: number, find: () => Date | null): Date | null => {
    if (kept && nowMs >= kept.fromMs && nowMs < kept.untilMs) return kept.at
    const at = find()
    kept = { at, fromMs: nowMs, untilMs: at?.getTime() ?? nowMs + NONE_KEPT_MS }
    return at
  }
}

/** Slots whose time has come and that no scheduler has claimed; none where a schedule never had a slot. */
type OverdueSlots = { readonly schedule: string; readonly missed: number; readonly overdueSeconds: number }

/** Lists, without a scheduler, the slots that should have been claimed by now. */
export function openOverdueSlots(schedules: readonly Schedule[], { lastSlot }: Pick<Runs, 'lastSlot'>) {
  const timetables = schedules.map(createTimetable)
  const findOf = async ({ schedule, timetable }: (typeof timetables)[number], nowMs: number): Promise<OverdueSlots> => {
    const last = await lastSlot(schedule.name)
    const dueMs = Math.floor((nowMs - LATE_MS) / MINUTE) * MINUTE
    const missed = last === undefined ? [] : slotsBetween(timetable, last.getTime(), dueMs + MINUTE)
    const [first] = missed
    const overdueSeconds = first === undefined ? 0 : (nowMs - first.getTime()) / SECOND
    return { schedule: schedule.name, missed: missed.length, overdueSeconds }
  }
  return {
    find: (nowMs: number): Promise<OverdueSlots[]> =>
      Promise.all(timetables.map((timetable) => findOf(timetable, nowMs))),
    async close() {
      for (const { matcher } of timetables) await matcher.destroy()
    },
  }
}
