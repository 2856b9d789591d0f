import type { Schedule } from '../../config/schedules.ts'
import { DAY } from '../time/units.ts'
import { slotsBetween } from './slots.ts'
import { createTimetable } from './timetable.ts'

/** Null: no slot within a day. */
export type NextSlot = { readonly schedule: string; readonly at: Date | null }

/** Tells, without a scheduler, when each schedule ticks next. */
export function openNextSlots(schedules: readonly Schedule[]) {
  const timetables = schedules.map(createTimetable)
  return {
    find: (nowMs: number): NextSlot[] =>
      timetables.map(({ schedule, timetable }) => ({
        schedule: schedule.name,
        at: slotsBetween(timetable, nowMs, nowMs + DAY)[0] ?? null,
      })),
    async close() {
      for (const { matcher } of timetables) await matcher.destroy()
    },
  }
}
