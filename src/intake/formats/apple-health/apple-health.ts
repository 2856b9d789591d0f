import { hexDigestOf } from '../../../base/text/digest.ts'
import { parseOffset, twoDigits } from '../../../base/time/instant.ts'
import { DAY, MINUTE } from '../../../base/time/units.ts'
import type { ExportFile, HealthFormat, HealthRecord, Origin, RecordBatch, SourceInstant } from '../export-format.ts'
import { type MeasureName, measureOf, type SessionName } from '../measures.ts'
import { wallClockMs } from '../source-times.ts'
import { conversionTo } from '../source-units.ts'
import { appleMapping, exerciseName, quantityMeasure, sleepMeasure, sleepType } from './apple-types.ts'
import { createXmlElements } from './xml-elements.ts'

type AppleDevice = { readonly deviceType: string; readonly deviceId: string | undefined }

const TEXT_MAX = 500
const CACHE_MAX = 1000
const fields = ['name', 'manufacturer', 'model', 'hardware'] as const

/**
 * Reads `<<HKDevice: 0x2830bd0e0>, name:Apple Watch, manufacturer:Apple Inc., model:Watch, hardware:Watch6,1, software:9.1>`.
 * The address changes from record to record and the software from month to month, so neither is part of the identity.
 */
function createDeviceParser(): (text: string | undefined, source: string) => AppleDevice {
  const known = new Map<string, AppleDevice>()
  let last: { readonly description: string; readonly source: string; readonly device: AppleDevice } | undefined
  const find = (description: string, source: string): AppleDevice => {
    const key = `${description}|${source}`
    const before = known.get(key)
    if (before) return before
    if (known.size >= CACHE_MAX) known.clear()
    const device = deviceOf(description, source)
    known.set(key, device)
    return device
  }
  // Neighbouring records are mostly of one device.
  return (text = '', source) => {
    const description = withoutAddress(text)
    if (last?.description !== description || last.source !== source)
      last = { description, source, device: find(description, source) }
    return last.device
  }
}

const withoutAddress = (text: string): string =>
  text.slice(text.startsWith('<<HKDevice: 0x') ? Math.max(0, text.indexOf('>')) : 0, TEXT_MAX)

function deviceOf(text: string, source: string): AppleDevice {
  const found = fields.map((field) => text.match(new RegExp(`\\b${field}:(.*?)(?:, [a-zA-Z ]+:|>?$)`))?.[1] ?? '')
  const isNamed = found.some((value) => value !== '')
  return {
    deviceType: kindOf(isNamed ? found.join(' ') : source),
    deviceId: isNamed ? hexDigestOf(JSON.stringify(found), 32) : undefined,
  }
}

const kinds: ReadonlyArray<readonly [pattern: RegExp, kind: string]> = [
  [/watch/i, 'watch'],
  [/phone|ipad|ipod/i, 'phone'],
  [/scale/i, 'scale'],
  [/\bring\b/i, 'ring'],
  [/strap/i, 'chest_strap'],
  [/\bband\b/i, 'fitness_band'],
]

const kindOf = (text: string): string => kinds.find(([pattern]) => pattern.test(text))?.[1] ?? 'unknown'

type Attributes = Readonly<Record<string, string>>

/** An element whose children are still to come. */
type OpenElement = {
  readonly attributes: Attributes
  /** Most records have none. */
  metadata: Map<string, string> | undefined
  readonly sums: Attributes[]
}

/** Children of one element that are kept; an element with more is no record of Apple's. */
const CHILDREN_MAX = 200
const TEXT_SHOWN_MAX = 500

/**
 * Apple Health: `export.xml`, alone or in the zip, whatever its name (it is translated). Every date-time is written in the
 * offset that the phone had when it exported: instants are right, local days are right only in that offset's zone.
 */
export const appleHealth: HealthFormat = {
  name: 'apple-health',
  title: 'Apple Health',
  vendor: 'apple',
  files: 'export.zip, or the export.xml in it, by any name',
  checked:
    'published files (tdda/applehealthdata, MIT; dogsheep/healthkit-to-sqlite, Apache-2.0), and files of our own writer',
  years: 'records of 2016 and 2017 as published; no published file of a later year was read',
  mapping: appleMapping,
  detects: ({ text }) => /<!DOCTYPE\s+HealthData\b|<HealthData\b/.test(text),
  read: readAppleHealth,
}

async function* readAppleHealth(file: ExportFile): AsyncGenerator<RecordBatch> {
  const collector = createCollector()
  const elements = createXmlElements(file.name, collector)
  let bytesRead = 0
  for await (const chunk of await file.open()) {
    elements.write(chunk)
    bytesRead += chunk.length
    yield { records: collector.take(), bytesRead, counted: 'record' }
  }
  elements.end()
  yield { records: collector.take(), bytesRead, counted: 'record' }
}

/** Collects the records of the elements that were closed since it was asked last. */
function createCollector() {
  const deviceOf = createDeviceParser()
  let records: HealthRecord[] = []
  let place = 0
  let current: OpenElement | undefined
  const leaveOut = (leftOut: string) => {
    place += 1
    records.push({ place, leftOut })
  }
  return {
    open(name: string, attributes: Attributes) {
      if (name === 'Record' || name === 'Workout') current = { attributes, metadata: undefined, sums: [] }
      else if (name === 'MetadataEntry') keepMetadata(current, attributes)
      else if (name === 'WorkoutStatistics' && (current?.sums.length ?? CHILDREN_MAX) < CHILDREN_MAX)
        current?.sums.push(attributes)
      else if (name === 'ActivitySummary' || name === 'Me') leaveOut(name)
    },
    close(name: string) {
      if (!current || (name !== 'Record' && name !== 'Workout')) return
      place += 1
      records.push((name === 'Record' ? recordOf : workoutOf)(place, current, deviceOf))
      current = undefined
    },
    take() {
      const taken = records
      records = []
      return taken
    },
  }
}

function keepMetadata(element: OpenElement | undefined, { key, value }: Attributes): void {
  if (!element || key === undefined || value === undefined) return
  element.metadata ??= new Map()
  if (element.metadata.size < CHILDREN_MAX) element.metadata.set(key, value)
}

type DeviceOf = ReturnType<typeof createDeviceParser>

const faultOf = (place: number, fault: string, { attributes }: OpenElement): HealthRecord => ({
  place,
  fault,
  text: JSON.stringify(attributes).slice(0, TEXT_SHOWN_MAX),
})

function recordOf(place: number, element: OpenElement, deviceOf: DeviceOf): HealthRecord {
  const { type = '', value = '', unit = '' } = element.attributes
  if (type === sleepType) {
    const stage = sleepMeasure(value)
    if (stage === 'sleep_stage_in_bed' && isScheduledNight(element))
      return { place, leftOut: `${type}: the bedtime and the alarm of the person’s settings` }
    return stage
      ? draftRecord(element, deviceOf, { place, dataType: stage })
      : { place, leftOut: `${type} of another value` }
  }
  const dataType = quantityMeasure(type)
  if (!dataType) return { place, leftOut: type === '' ? 'Record without a type' : type }
  const number = value.trim() === '' ? Number.NaN : Number(value)
  if (!Number.isFinite(number)) return faultOf(place, 'value: is no number', element)
  const amount = amountOf(dataType, number, unit)
  return amount === undefined
    ? faultOf(place, 'unit: is not known for this type', element)
    : draftRecord(element, deviceOf, { place, dataType, value: amount })
}

const ALARM_MS = 10 * MINUTE

/**
 * Whether a time in bed is the schedule itself: the clock of an iPhone writes one that begins at the bedtime that was set, to the
 * second, and ends with the alarm. One that begins at another time was measured by the phone.
 */
function isScheduledNight({ attributes, metadata }: OpenElement): boolean {
  const [bedtime, alarm] = [
    metadata?.get('_HKPrivateSleepAlarmUserSetBedtime'),
    metadata?.get('_HKPrivateSleepAlarmUserWakeTime'),
  ]
  const [start, end] = [parseAppleInstant(attributes['startDate']), parseAppleInstant(attributes['endDate'])]
  const [planned, rung] = [parseAppleInstant(bedtime), parseAppleInstant(alarm)]
  if (!start || !end || !planned || !rung) return false
  // The settings hold times of the day, on days long past.
  const sinceAlarmMs = (((end.atMs - rung.atMs) % DAY) + DAY) % DAY
  return (start.atMs - planned.atMs) % DAY === 0 && sinceAlarmMs <= ALARM_MS
}

/** Apple writes percentages from 0 to 1, and energy in kcal or kJ by the phone's locale. */
function amountOf(dataType: MeasureName, value: number, unit: string): number | undefined {
  const conversion = conversionTo(measureOf(dataType).unit, unit === '%' ? 'fraction' : unit)
  return conversion && value * conversion.scale + conversion.shift
}

function workoutOf(place: number, element: OpenElement, deviceOf: DeviceOf): HealthRecord {
  const { workoutActivityType = '' } = element.attributes
  const dataType = `exercise_session_${exerciseName(workoutActivityType)}` as const
  return draftRecord(element, deviceOf, { place, dataType, properties: totalsOf(element) })
}

/** The totals of a workout: attributes of it until iOS 15, and elements in it since. */
function totalsOf({ attributes, sums }: OpenElement): Record<string, string> {
  const total = (ours: string, value: string | undefined, unit: string | undefined) => {
    const conversion = conversionTo(ours, unit ?? '')
    const number = Number(value)
    return conversion && value !== undefined && Number.isFinite(number) ? number * conversion.scale : undefined
  }
  const sumOf = (type: RegExp) => sums.find(({ type: name = '', sum }) => type.test(name) && sum !== undefined)
  const energy = sumOf(/ActiveEnergyBurned$/)
  const distance = sumOf(/Distance/)
  const found = {
    activeEnergyKcal:
      total('kcal', energy?.['sum'], energy?.['unit']) ??
      total('kcal', attributes['totalEnergyBurned'], attributes['totalEnergyBurnedUnit']),
    distanceM:
      total('m', distance?.['sum'], distance?.['unit']) ??
      total('m', attributes['totalDistance'], attributes['totalDistanceUnit']),
  }
  return Object.fromEntries(
    Object.entries(found).flatMap(([name, sum]) => (sum === undefined ? [] : [[name, String(Number(sum.toFixed(3)))]])),
  )
}

type Found = {
  readonly place: number
  readonly dataType: MeasureName | SessionName
  readonly value?: number
  readonly properties?: Origin['properties']
}

function draftRecord(
  element: OpenElement,
  deviceOf: DeviceOf,
  { place, dataType, value, properties }: Found,
): HealthRecord {
  const { startDate, endDate, creationDate, sourceName, device } = element.attributes
  // Most records are of a moment, and written in it: its text is parsed once.
  const start = parseAppleInstant(startDate)
  const end = endDate === startDate ? start : parseAppleInstant(endDate)
  if (!start || !end) return faultOf(place, 'startDate or endDate: is no date-time with an offset', element)
  const source = sourceName === undefined ? 'unknown' : plainName(sourceName)
  const { deviceType, deviceId } = deviceOf(device, source)
  const origin: Origin = {
    source,
    deviceType,
    deviceId,
    recordingMethod: element.metadata?.get('HKWasUserEntered') === '1' ? 'manual_entry' : 'automatically_recorded',
    modifiedMs: (creationDate === endDate ? end : parseAppleInstant(creationDate))?.atMs,
    properties: properties && Object.keys(properties).length > 0 ? properties : undefined,
  }
  return { place, draft: { dataType, value: value ?? (end.atMs - start.atMs) / MINUTE, start, end, origin } }
}

const otherSpace = /[^\S ]|^ | {2}| $/

const plainName = (name: string): string =>
  (otherSpace.test(name) ? name.replace(/\s+/g, ' ').trim() : name) || 'unknown'

/** The offset that was read last: an export has few. */
let known: { readonly text: string; readonly minutes: number | undefined } = { text: '', minutes: undefined }

function offsetOf(text: string): number | undefined {
  if (known.text !== text) known = { text, minutes: parseOffset(text) }
  return known.minutes
}

const appleInstant = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4}$/

/** `2026-03-29 07:45:03 +0200` */
function parseAppleInstant(text: string | undefined): SourceInstant | undefined {
  if (text === undefined || !appleInstant.test(text)) return undefined
  const offsetMinutes = offsetOf(text.slice(20))
  const localMs = wallClockMs({
    year: twoDigits(text, 0) * 100 + twoDigits(text, 2),
    month: twoDigits(text, 5),
    day: twoDigits(text, 8),
    hour: twoDigits(text, 11),
    minute: twoDigits(text, 14),
    second: twoDigits(text, 17),
  })
  if (offsetMinutes === undefined || localMs === undefined) return undefined
  return { atMs: localMs - offsetMinutes * MINUTE, offsetMinutes }
}
