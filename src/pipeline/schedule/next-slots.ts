import { DAY, MINUTE } from '../../base/time/units.ts'
import { firstSlotAfter } from './slots.ts'
import { createTimetable, type Schedule } from './timetable.ts'

/** Null: no slot within a day. */
export type NextSlot = { readonly schedule: string; readonly at: Date | null }

/** So long nobody looks again for the slot of a schedule that has none within a day. */
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
