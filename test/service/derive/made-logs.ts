import { type DataLogInput, dataLogInputSchema } from '../../../src/base/contract/data-log.ts'
import { namedUuid } from '../../../src/base/text/digest.ts'
import { formatInstant, parseInstant } from '../../../src/base/time/instant.ts'
import { dayText } from '../../../src/base/time/local-time.ts'
import { DAY } from '../../../src/base/time/units.ts'
import type { MovementFacts } from '../../../src/service/derive/day/facts.ts'
import type { DataLog } from '../../../src/service/derive/day/parsed-log.ts'
import type { Demographics } from '../../../src/service/derive/model/demographics.ts'
import { derive } from './derive-at-once.ts'

export const unknownDemographics: Demographics = { birthDate: null, age: null, gender: null }

export const profileId = '6a1f1b0e-5f0d-4f43-9a3b-0d5bb0f6a001'

/** The movement of a day with a device worn and no measure known. */
export const unknownMovement: MovementFacts = {
  valid: true,
  steps: null,
  floors: null,
  activeEnergy: null,
  totalEnergy: null,
  restingEnergy: null,
  activeHours: null,
  low: null,
  medium: null,
  high: null,
  intense: null,
  exerciseLoad: 0,
  sedentary: null,
  stillness: null,
  hourly: Array.from({ length: 24 }, () => 0),
  wear: 1000,
  covered: 1000,
  wakingGuessed: false,
}

/** A log by kind, start, minutes (0 for an instant) and value. The device is a watch unless `extra` says otherwise. */
export function log(
  dataType: string,
  start: string,
  [minutes, value]: readonly [minutes: number, value: number],
  extra: Partial<DataLog> = {},
): DataLog {
  const instant = parseInstant(start)
  if (!instant) throw new RangeError(`make test log: ${start} is no date-time`)
  const { epochMs: startMs, offsetMinutes } = instant
  const made = {
    parentId: null,
    dataType,
    value,
    unit: 'count',
    source: 'watch-app',
    recordingMethod: 'automatically_recorded',
    deviceType: 'watch',
    deviceId: null,
    periodicity: null,
    startMs,
    endMs: startMs + minutes * 60_000,
    startOffset: offsetMinutes,
    endOffset: offsetMinutes,
    modifiedMs: null,
    ...extra,
  }
  return { id: namedUuid('4be0643f-1d98-573b-97cd-ca98a65347dd', [JSON.stringify(made)]), ...made, ...extra }
}

/** Steps in logs of five minutes, which show the pace; the last piece may be shorter. */
export function walk(
  start: string,
  [minutes, count]: readonly [minutes: number, count: number],
  pieceMinutes = 5,
): DataLog[] {
  const whole = log('steps', start, [minutes, count])
  return Array.from({ length: Math.ceil(minutes / pieceMinutes) }, (_, place) => {
    const length = Math.min(pieceMinutes, minutes - place * pieceMinutes)
    const startMs = whole.startMs + place * pieceMinutes * 60_000
    return log('steps', start, [length, (count * length) / minutes], { startMs, endMs: startMs + length * 60_000 })
  })
}

export const phone = { deviceType: 'phone', source: 'phone-app' } as const

export function logOf(input: DataLogInput): DataLog {
  const parsed = dataLogInputSchema.parse(input)
  const [start, end] = [parseInstant(parsed.startDateTime), parseInstant(parsed.endDateTime)]
  const modified = parsed.modifiedDateTime ? parseInstant(parsed.modifiedDateTime) : null
  if (!start || !end || !parsed.id) throw new RangeError('make test log: it has no id or no instants')
  return {
    id: parsed.id,
    parentId: parsed.parentId ?? null,
    dataType: parsed.dataType,
    value: parsed.value,
    unit: parsed.unit,
    source: parsed.source,
    recordingMethod: parsed.recordingMethod,
    deviceType: parsed.deviceType,
    deviceId: parsed.deviceId ?? null,
    periodicity: parsed.periodicity ?? null,
    startMs: start.epochMs,
    endMs: end.epochMs,
    startOffset: start.offsetMinutes,
    endOffset: end.offsetMinutes,
    modifiedMs: modified?.epochMs ?? null,
  }
}

const logTypes: Readonly<Record<string, DataLogInput['logType']>> = {
  sleep: 'sleep',
  exercise: 'exercise',
  heart: 'heart',
  resting: 'heart',
  active: 'energy',
  weight: 'body',
  height: 'body',
}

/** The reverse of logOf: the log as a client sends it. */
export function inputOf(log: DataLog): DataLogInput & { id: string } {
  const { id, dataType, value, unit, source, recordingMethod, deviceType, startMs, endMs } = log
  return {
    id,
    logType: logTypes[dataType.split('_')[0] ?? ''] ?? 'activity',
    ...{ dataType, value, unit, source, deviceType },
    // Tests make only recording methods of the contract.
    recordingMethod: recordingMethod as DataLogInput['recordingMethod'],
    startDateTime: formatInstant({ epochMs: startMs, offsetMinutes: log.startOffset }),
    endDateTime: formatInstant({ epochMs: endMs, offsetMinutes: log.endOffset }),
  }
}

/** Local days `2026-03-02`, `2026-03-03` … */
export function daysFrom(first: string, count: number): string[] {
  const start = Math.round(Date.parse(`${first}T00:00:00Z`) / DAY)
  return Array.from({ length: count }, (_, place) => dayText(start + place))
}

export function dayBefore(day: string): string {
  return dayText(Math.round(Date.parse(`${day}T00:00:00Z`) / DAY) - 1)
}

/** A heart rate every five minutes, so that 24 hours are covered and worn. */
export function wornAllDay(day: string, offset = '+00:00'): DataLog[] {
  return Array.from({ length: 288 }, (_, place) => {
    const [hour, minute] = [Math.floor(place / 12), (place % 12) * 5]
    const time = `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}:00`
    return log('heart_rate', `${day}T${time}${offset}`, [0, 60])
  })
}

type Asked = { logs: readonly DataLog[]; asOf?: string; person?: Partial<Demographics> }

export function deriveAll({ logs, asOf = '2027-01-01T00:00:00Z', person = {} }: Asked) {
  return derive({ logs, asOfMs: Date.parse(asOf), demographics: { ...unknownDemographics, ...person }, profileId })
}

type Derived = ReturnType<typeof deriveAll>

/** Value of a daily (or other) biomarker on the local day that its period ends on; undefined when there is none. */
export function biomarker(derived: Derived, type: string, day: string, periodicity = 'daily'): string | undefined {
  const found = derived.biomarkers.find(
    (biomarker) =>
      biomarker['type'] === type &&
      biomarker['periodicity'] === periodicity &&
      String(biomarker['endDateTime']).startsWith(day),
  )
  return found && String(found['value'])
}

type Factor = { name: string; value: number; goal: number; score: number }

export function score(derived: Derived, type: string, day: string) {
  const found = derived.scores.find((score) => score['type'] === type && String(score['scoreDateTime']).startsWith(day))
  if (!found) return undefined
  // The records have the contract's type; the test reads only these members of a factor.
  return { value: Number(found['value']), record: found, factors: found['factors'] as Factor[] }
}

export function factor(
  derived: Derived,
  [type, name]: readonly [type: string, name: string],
  day: string,
): Factor | undefined {
  return score(derived, type, day)?.factors.find((factor) => factor.name === name)
}
