import { localDateOf } from '../../../base/time/instant.ts'
import { DAY, MINUTE, SECOND } from '../../../base/time/units.ts'
import type { HealthRecord, LogDraft, Origin, RecordPlace, SourceInstant } from '../export-format.ts'
import { later } from '../source-times.ts'
import { type FitFields, type FitMessage, fitInstant } from './fit-messages.ts'

const FIELD = { cycles: 3, activityType: 5, cycles16: 9, packedType: 24, timestamp16: 26, heartRate: 27 }
const RUNNING = 1
const WALKING = 6
const DAY_SECONDS = DAY / SECOND

const dateOf = ({ atMs, offsetMinutes }: SourceInstant): string => localDateOf({ epochMs: atMs, offsetMinutes })

/**
 * The identity of a day's resting heart rate in all files of Garmin: a day has one. The rate of the day itself is dated later than
 * the account's mean of seven days, and counts before it.
 */
export const restingRateOfDay = (at: SourceInstant, modifiedMs: number) => ({
  ownId: `resting ${dateOf(at)}`,
  modifiedMs,
})

/** A counter of one kind of activity: its greatest value on the day of its last count, and its value when that day began. */
type Counter = { max: number; base: number; day: number }

/** The local day that an instant ends; midnight ends the day before. Days are counted from 1970. */
const dayEndedBy = ({ atMs, offsetMinutes }: SourceInstant): number =>
  Math.floor((atMs - SECOND + offsetMinutes * MINUTE) / DAY)

/** The counters of a file. The greatest count of each kind of activity, added up, is the day. */
function createStepCounters(origin: Origin, offsetMinutes: number | undefined) {
  const counters = new Map<number, Counter>()
  let currentDay: number | undefined
  let currentEnd: SourceInstant | undefined
  return {
    isOfNextDay: (day: number): boolean => currentDay !== undefined && currentDay !== day,
    /** Two cycles are two steps of each leg; the file counts half cycles, so its figure is the steps. NaN: the base is not known. */
    stepsSince(
      fields: FitFields,
      { day, end }: { readonly day: number; readonly end: SourceInstant },
      beginsDay: boolean,
    ): number | undefined {
      currentDay = day
      currentEnd = end
      const count = fields.get(FIELD.cycles) ?? fields.get(FIELD.cycles16)
      if (count === undefined) return undefined
      const type = fields.get(FIELD.activityType) ?? (fields.get(FIELD.packedType) ?? 0) & 0x1f
      if (type !== RUNNING && type !== WALKING) return undefined
      const counter = counters.get(type)
      if (!counter) {
        counters.set(type, { max: count, base: 0, day })
        return beginsDay ? count : Number.NaN
      }
      if (counter.day !== day) {
        // A count below that of the former day began at midnight; a count that goes on has the steps of the former day in it.
        counter.base = count < counter.max ? 0 : counter.max
        counter.max = counter.base
        counter.day = day
      }
      const steps = Math.max(0, count - counter.max)
      counter.max += steps
      return steps
    },
    /** The total of the day so far. A later file of the same day has a greater one, under the same id. */
    totalOf(place: RecordPlace): HealthRecord[] {
      if (currentDay === undefined || currentEnd === undefined || offsetMinutes === undefined) return []
      const [day, end] = [currentDay, currentEnd]
      const ofDay = [...counters.values()].filter((counter) => counter.day === day)
      const value = ofDay.reduce((sum, { max, base }) => sum + max - base, 0)
      if (value <= 0) return []
      const start = { atMs: day * DAY - offsetMinutes * MINUTE, offsetMinutes }
      const identity = { ownId: `${origin.deviceId} ${dateOf(start)}`, modifiedMs: end.atMs }
      const total = { ...origin, ...identity, periodicity: 'daily', aggregation: 'sum' } as const
      return [{ place, draft: { dataType: 'steps', value, start, end, origin: total } }]
    },
  }
}

/**
 * Monitoring describes a day by cumulative counts. A log is what came since the message before; the total of the day is a log of its
 * own, which has also the steps between two files. Messages have the lower sixteen bits of their time only, which wrap within a day:
 * they are taken up to the last whole time that any message had.
 */
export function createFitMonitoring(origin: Origin, offsetMinutes: number | undefined) {
  let lastSeconds: number | undefined
  let before: number | undefined
  let beginsDay = false
  const counters = createStepCounters(origin, offsetMinutes)
  const instantOf = (seconds: number | undefined) => fitInstant(seconds, offsetMinutes ?? 0)
  const secondsOf = (fields: FitFields) => {
    const short = fields.get(FIELD.timestamp16)
    if (short === undefined || lastSeconds === undefined) return lastSeconds
    return lastSeconds + ((short - lastSeconds) & 0xffff)
  }
  return {
    sees(timestamp: number | undefined) {
      lastSeconds = timestamp ?? lastSeconds
    },
    begins(fields: FitFields) {
      before = lastSeconds
      beginsDay = (fields.get(0) ?? 1) % DAY_SECONDS === 0
    },
    read(fields: FitMessage, records: HealthRecord[]): void {
      lastSeconds = secondsOf(fields)
      const end = instantOf(lastSeconds)
      if (!end) {
        records.push({ place: fields.place, fault: 'monitoring without a whole time before it', text: '' })
        return
      }
      const day = dayEndedBy(end)
      if (counters.isOfNextDay(day)) {
        records.push(...counters.totalOf(fields.place))
        beginsDay = true
      }
      const steps = counters.stepsSince(fields, { day, end }, beginsDay)
      if (Number.isNaN(steps))
        records.push({ place: fields.place, leftOut: 'the first count of a file that begins within a day' })
      else if (steps !== undefined && steps > 0) {
        const from = instantOf(before)
        const start = from && from.atMs < end.atMs ? from : later(end, -MINUTE)
        const draft: LogDraft = { dataType: 'steps', value: steps, start, end, origin }
        records.push({ place: fields.place, draft })
      }
      const beats = fields.get(FIELD.heartRate)
      if (beats !== undefined && beats > 0) {
        const draft: LogDraft = { dataType: 'heart_rate', value: beats, start: end, end, origin }
        records.push({ place: fields.place, draft })
      } else before = lastSeconds
    },
    /** The total of the last day of the file. */
    end: () => counters.totalOf('the end of the file'),
  }
}
