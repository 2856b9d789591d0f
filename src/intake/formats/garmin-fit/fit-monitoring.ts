import { DAY, MINUTE, SECOND } from '../../../base/time/units.ts'
import type { HealthRecord } from '../export-format.ts'
import { later } from '../source-times.ts'
import { measuredRecord, type Origin } from '../source-values.ts'
import { fitInstant } from './fit-messages.ts'

type Fields = ReadonlyMap<number, number>

const FIELD = { cycles: 3, activityType: 5, cycles16: 9, packedType: 24, timestamp16: 26, heartRate: 27 }
const RUNNING = 1
const WALKING = 6
const DAY_SECONDS = DAY / SECOND

/**
 * Monitoring describes a day by cumulative counts, one for each kind of activity. Its messages have the lower sixteen bits of their
 * time only, which wrap within a day: they are taken up to the last whole time that any message had.
 */
export function createFitMonitoring(origin: Origin, offsetMinutes: number) {
  let lastSeconds: number | undefined
  let before: number | undefined
  let beginsDay = false
  const counts = new Map<number, number>()
  const secondsOf = (fields: Fields) => {
    const short = fields.get(FIELD.timestamp16)
    if (short === undefined || lastSeconds === undefined) return lastSeconds
    return lastSeconds + ((short - lastSeconds) & 0xffff)
  }
  /** Two cycles are two steps of each leg; the file counts half cycles, so its figure is the steps. */
  const stepsSince = (fields: Fields): number | undefined => {
    const type = fields.get(FIELD.activityType) ?? (fields.get(FIELD.packedType) ?? 0) & 0x1f
    const count = fields.get(FIELD.cycles) ?? fields.get(FIELD.cycles16)
    if (count === undefined || (type !== RUNNING && type !== WALKING)) return undefined
    const known = counts.get(type)
    counts.set(type, count)
    if (known === undefined) return beginsDay ? count : Number.NaN
    return count >= known ? count - known : count
  }
  return {
    sees(timestamp: number | undefined) {
      lastSeconds = timestamp ?? lastSeconds
    },
    begins(fields: Fields) {
      before = lastSeconds
      counts.clear()
      beginsDay = (fields.get(0) ?? 1) % DAY_SECONDS === 0
    },
    recordsOf(fields: Fields, place: string): HealthRecord[] {
      lastSeconds = secondsOf(fields)
      const end = fitInstant(lastSeconds, offsetMinutes)
      if (!end) return [{ place, fault: 'monitoring without a whole time before it', text: '' }]
      const from = fitInstant(before, offsetMinutes)
      const start = from && from.atMs < end.atMs ? from : later(end, -MINUTE)
      const records: HealthRecord[] = []
      const steps = stepsSince(fields)
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
  }
}
