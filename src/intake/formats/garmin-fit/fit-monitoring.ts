import { localDateOf } from '../../../base/time/instant.ts'
import { DAY, MINUTE, SECOND } from '../../../base/time/units.ts'
import type { HealthRecord, SourceInstant } from '../export-format.ts'
import { later } from '../source-times.ts'
import { measuredRecord, type Origin } from '../source-values.ts'
import { fitInstant } from './fit-messages.ts'

type Fields = ReadonlyMap<number, number>

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

/** A counter of one kind of activity: its greatest value on this day, and its value when the day began. */
type Counter = { max: number; base: number }

/** The local day that an instant ends; midnight ends the day before. Days are counted from 1970. */
const dayEndedBy = ({ atMs, offsetMinutes }: SourceInstant): number =>
  Math.floor((atMs - SECOND + offsetMinutes * MINUTE) / DAY)

/** The counters of a file. The greatest count of each kind of activity, added up, is the day. */
function createStepCounters(origin: Origin, offsetMinutes: number | undefined) {
  const counters = new Map<number, Counter>()
  const countedOn = new Map<number, number>()
  let current: { readonly day: number; readonly end: SourceInstant } | undefined
  /** A count below that of the former day began at midnight; a count that goes on has the steps of the former day in it. */
  const counterOf = (type: number, count: number, { day, beginsDay }: { day: number; beginsDay: boolean }) => {
    const known = counters.get(type)
    if (!known) return beginsDay ? { max: 0, base: 0 } : undefined
    if (countedOn.get(type) === day) return known
    return count < known.max ? { max: 0, base: 0 } : { max: known.max, base: known.max }
  }
  return {
    isOfNextDay: (end: SourceInstant): boolean => current !== undefined && current.day !== dayEndedBy(end),
    /** Two cycles are two steps of each leg; the file counts half cycles, so its figure is the steps. NaN: the base is not known. */
    stepsSince(fields: Fields, end: SourceInstant, beginsDay: boolean): number | undefined {
      const day = dayEndedBy(end)
      current = { day, end }
      const type = fields.get(FIELD.activityType) ?? (fields.get(FIELD.packedType) ?? 0) & 0x1f
      const count = fields.get(FIELD.cycles) ?? fields.get(FIELD.cycles16)
      if (count === undefined || (type !== RUNNING && type !== WALKING)) return undefined
      const counter = counterOf(type, count, { day, beginsDay })
      counters.set(type, { max: Math.max(count, counter?.max ?? 0), base: counter?.base ?? 0 })
      countedOn.set(type, day)
      return counter ? Math.max(0, count - counter.max) : Number.NaN
    },
    /** The total of the day so far. A later file of the same day has a greater one, under the same id. */
    totalOf(place: string): HealthRecord[] {
      if (!current || offsetMinutes === undefined) return []
      const { day, end } = current
      const ofDay = [...counters].filter(([type]) => countedOn.get(type) === day)
      const value = ofDay.reduce((sum, [, { max, base }]) => sum + max - base, 0)
      if (value <= 0) return []
      const start = { atMs: day * DAY - offsetMinutes * MINUTE, offsetMinutes }
      const identity = { ownId: `${origin.deviceId} ${dateOf(start)}`, modifiedMs: end.atMs }
      const frame = { ...origin, ...identity, start, end, periodicity: 'daily', aggregation: 'sum' } as const
      return [measuredRecord(place, { to: 'steps', unit: 'count', value }, frame)]
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
  const secondsOf = (fields: Fields) => {
    const short = fields.get(FIELD.timestamp16)
    if (short === undefined || lastSeconds === undefined) return lastSeconds
    return lastSeconds + ((short - lastSeconds) & 0xffff)
  }
  return {
    sees(timestamp: number | undefined) {
      lastSeconds = timestamp ?? lastSeconds
    },
    begins(fields: Fields) {
      before = lastSeconds
      beginsDay = (fields.get(0) ?? 1) % DAY_SECONDS === 0
    },
    recordsOf(fields: Fields, place: string): HealthRecord[] {
      lastSeconds = secondsOf(fields)
      const end = instantOf(lastSeconds)
      if (!end) return [{ place, fault: 'monitoring without a whole time before it', text: '' }]
      const from = instantOf(before)
      const start = from && from.atMs < end.atMs ? from : later(end, -MINUTE)
      const records: HealthRecord[] = []
      if (counters.isOfNextDay(end)) {
        records.push(...counters.totalOf(place))
        beginsDay = true
      }
      const steps = counters.stepsSince(fields, end, beginsDay)
      if (Number.isNaN(steps)) records.push({ place, leftOut: 'the first count of a file that begins within a day' })
      else if (steps !== undefined && steps > 0)
        records.push(measuredRecord(place, { to: 'steps', unit: 'count', value: steps }, { ...origin, start, end }))
      const beats = fields.get(FIELD.heartRate)
      if (beats !== undefined && beats > 0)
        records.push(
          measuredRecord(place, { to: 'heart_rate', unit: 'bpm', value: beats }, { ...origin, start: end, end }),
        )
      else before = lastSeconds
      return records
    },
    /** The total of the last day of the file. */
    end: () => counters.totalOf('the end of the file'),
  }
}
