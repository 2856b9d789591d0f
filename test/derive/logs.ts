import { type DataLogInput, dataLogInputSchema } from '../../src/contract/data-log.ts'
import { formatInstant, parseInstant } from '../../src/contract/instant.ts'
import { namedUuid } from '../../src/named-uuid.ts'
import { derive } from '../../src/service/derive/derive.ts'
import { dayText } from '../../src/service/derive/local-time.ts'
import { type Log, type Person, unknownPerson } from '../../src/service/derive/log.ts'

export const profileId = '6a1f1b0e-5f0d-4f43-9a3b-0d5bb0f6a001'

/** A log in few words: kind, start, minutes (0 for an instant) and value; the rest is a watch unless said otherwise. */
export function log(
  dataType: string,
  start: string,
  [minutes, value]: readonly [minutes: number, value: number],
  extra: Partial<Log> = {},
): Log {
  const instant = parseInstant(start)
  if (!instant) throw new RangeError(`make test log: ${start} is no date-time`)
  const { epochMs: startAt, offsetMinutes } = instant
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
    startAt,
    endAt: startAt + minutes * 60_000,
    startOffset: offsetMinutes,
    endOffset: offsetMinutes,
    modifiedAt: null,
    ...extra,
  }
  return { id: namedUuid('4be0643f-1d98-573b-97cd-ca98a65347dd', [JSON.stringify(made)]), ...made, ...extra }
}

export const phone = { deviceType: 'phone', source: 'phone-app' } as const

export function logOf(input: DataLogInput): Log {
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
    startAt: start.epochMs,
    endAt: end.epochMs,
    startOffset: start.offsetMinutes,
    endOffset: end.offsetMinutes,
    modifiedAt: modified?.epochMs ?? null,
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

/** The other way round: what a client would send. */
export function inputOf(log: Log): DataLogInput & { id: string } {
  const { id, dataType, value, unit, source, recordingMethod, deviceType, startAt, endAt } = log
  return {
    id,
    logType: logTypes[dataType.split('_')[0] ?? ''] ?? 'activity',
    ...{ dataType, value, unit, source, deviceType },
    // Only the words of the contract are made in tests.
    recordingMethod: recordingMethod as DataLogInput['recordingMethod'],
    startDateTime: formatInstant({ epochMs: startAt, offsetMinutes: log.startOffset }),
    endDateTime: formatInstant({ epochMs: endAt, offsetMinutes: log.endOffset }),
  }
}

/** Local days `2026-03-02`, `2026-03-03` … */
export function daysFrom(first: string, count: number): string[] {
  const start = Math.round(Date.parse(`${first}T00:00:00Z`) / 86_400_000)
  return Array.from({ length: count }, (_, place) => dayText(start + place))
}

export function dayBefore(day: string): string {
  return dayText(Math.round(Date.parse(`${day}T00:00:00Z`) / 86_400_000) - 1)
}

/** What is worn all day: a pulse every five minutes, so that 24 hours are covered. */
export function wornAllDay(day: string, offset = '+00:00'): Log[] {
  return Array.from({ length: 288 }, (_, place) => {
    const [hour, minute] = [Math.floor(place / 12), (place % 12) * 5]
    const time = `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}:00`
    return log('heart_rate', `${day}T${time}${offset}`, [0, 60])
  })
}

type Asked = { logs: readonly Log[]; asOf?: string; person?: Partial<Person> }

export function deriveAll({ logs, asOf = '2027-01-01T00:00:00Z', person = {} }: Asked) {
  return derive({ logs, asOf: Date.parse(asOf), person: { ...unknownPerson, ...person }, profileId })
}

type Derived = ReturnType<typeof deriveAll>

/** Value of a daily (or other) biomarker on the local day that its period ends on; undefined when there is none. */
export function biomarker(derived: Derived, type: string, day: string, periodicity = 'daily'): string | undefined {
  const found = derived.biomarkers.find(
    (one) => one['type'] === type && one['periodicity'] === periodicity && String(one['endDateTime']).startsWith(day),
  )
  return found && String(found['value'])
}

type Factor = { name: string; value: number; goal: number; score: number }

export function score(derived: Derived, type: string, day: string) {
  const found = derived.scores.find((one) => one['type'] === type && String(one['scoreDateTime']).startsWith(day))
  if (!found) return undefined
  // The records are those of the contract; only the test's own view of them is narrower.
  return { value: Number(found['value']), record: found, factors: found['factors'] as Factor[] }
}

export function factor(
  derived: Derived,
  [type, name]: readonly [type: string, name: string],
  day: string,
): Factor | undefined {
  return score(derived, type, day)?.factors.find((one) => one.name === name)
}
