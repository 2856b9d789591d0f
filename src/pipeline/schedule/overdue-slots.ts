import { MINUTE, SECOND } from '../../base/time/units.ts'
import type { Runs } from '../warehouse/runs/stored-runs.ts'
import { LATE_MS, slotsBetween } from './slots.ts'
import { createTimetable, type Schedule } from './timetable.ts'

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
