import { hexDigestOf } from '../../../base/text/digest.ts'
import { HOUR, MINUTE, SECOND } from '../../../base/time/units.ts'
import { leftOutRows } from '../declared-format.ts'
import type { ExportFile, HealthFormat, HealthRecord, MappingRow, Origin, RecordBatch } from '../export-format.ts'
import { type MeasureName, measureOf, type SessionName } from '../measures.ts'
import { wholeFile } from '../small-files.ts'
import { later } from '../source-times.ts'
import { type DraftFrame, lastingRecord } from '../source-values.ts'
import { type FitFields, type FitMessage, FitMessages, fitChecksum, fitInstant, isFit } from './fit-messages.ts'
import { createFitMonitoring, restingRateOfDay } from './fit-monitoring.ts'

/** Messages by their numbers. */
const MESSAGE = {
  fileId: 0,
  session: 18,
  activity: 34,
  monitoring: 55,
  monitoringInfo: 103,
  restingRate: 211,
  saturation: 269,
}
/** The mode of a saturation. */
const MEASURED_BY = 2
const OFF_WRIST = 0
const WEIGHT = 30

/** A field of a message that measures a moment; `per` of its steps make one of our unit. */
type FitField = readonly [message: number, field: number, name: string, to: MeasureName, per: number]

const fitFields: readonly FitField[] = [
  [20, 3, 'record, heart_rate', 'heart_rate', 1],
  [WEIGHT, 0, 'weight_scale, weight', 'weight', 100],
  [WEIGHT, 1, 'weight_scale, percent_fat', 'body_fat', 100],
  [WEIGHT, 4, 'weight_scale, bone_mass', 'bone_mass', 100],
  [WEIGHT, 7, 'weight_scale, basal_met', 'basal_metabolic_rate', 4],
  [WEIGHT, 13, 'weight_scale, bmi', 'body_mass_index', 10],
  [MESSAGE.restingRate, 1, 'monitoring_hr_data, current_day_resting_heart_rate', 'resting_heart_rate', 1],
  [MESSAGE.saturation, 0, 'spo2_data, reading_spo2', 'oxygen_saturation', 1],
  [297, 0, 'respiration_rate, respiration_rate', 'respiratory_rate', 100],
  [371, 0, 'hrv_value, value', 'heart_rate_variability_rmssd', 128],
]
const fieldsByMessage = Map.groupBy(fitFields, ([message]) => message)

const OFFSET_MAX_MS = 14 * HOUR
const WEIGHT_FILE = 9

/** The words of a file about itself: the device, and how far its clock was ahead of UTC, which only a message with both times shows. */
type AboutFile = { origin: Origin | undefined; offsetMinutes: number | undefined }

const aboutMessages = new Set([MESSAGE.fileId, MESSAGE.activity, MESSAGE.monitoringInfo])
const readMessages = new Set([...fieldsByMessage.keys(), ...Object.values(MESSAGE)])

function aboutFiles(bytes: Buffer, name: string): readonly AboutFile[] {
  const files: AboutFile[] = []
  const messages = new FitMessages(bytes, name, aboutMessages)
  try {
    while (messages.next()) {
      const { fileIndex, number, timestamp } = messages
      const file = files[fileIndex] ?? { origin: undefined, offsetMinutes: undefined }
      files[fileIndex] = file
      if (number === MESSAGE.fileId) {
        file.origin ??= originOf(messages)
        continue
      }
      const local = messages.get(number === MESSAGE.activity ? 5 : 0)
      if (local === undefined || timestamp === undefined) continue
      const ahead = Math.round(((local - timestamp) * SECOND) / (15 * MINUTE)) * 15
      if (Math.abs(ahead * MINUTE) <= OFFSET_MAX_MS) file.offsetMinutes = ahead
    }
  } catch {
    // The second reading finds where the file breaks.
  }
  return files
}

const GARMIN = 1

function originOf(device: FitFields): Origin {
  const named = [1, 2, 3].map((field) => device.get(field) ?? '')
  return {
    source: device.get(1) === GARMIN ? 'Garmin' : 'FIT',
    deviceType: device.get(0) === WEIGHT_FILE ? 'scale' : 'watch',
    recordingMethod: 'automatically_recorded',
    // The serial number belongs to the person, its digest serves as well.
    deviceId: hexDigestOf(JSON.stringify(named), 32),
  }
}

const BATCH_RECORDS = 1000

async function* readGarminFit(file: ExportFile): AsyncGenerator<RecordBatch> {
  const bytes = await wholeFile(file)
  const about = aboutFiles(bytes, file.name)
  const readers: Array<ReturnType<typeof createMessageReader>> = []
  /** A file may say nothing about itself. */
  const openReader = (fileIndex: number) => {
    const { origin = originOf(new Map()), offsetMinutes } = about[fileIndex] ?? {}
    const reader = createMessageReader(origin, offsetMinutes)
    readers[fileIndex] = reader
    return reader
  }
  const messages = new FitMessages(bytes, file.name, readMessages)
  let records: HealthRecord[] = []
  let bytesRead = 0
  try {
    while (messages.next()) {
      bytesRead = messages.end
      const reader = readers[messages.fileIndex] ?? openReader(messages.fileIndex)
      reader.read(messages, records)
      if (records.length < BATCH_RECORDS) continue
      yield { records, bytesRead, counted: 'message' }
      records = []
    }
  } finally {
    yield { records: [...records, ...readers.flatMap((reader) => reader.end())], bytesRead, counted: 'message' }
  }
  if (fitChecksum(bytes) !== 0)
    yield {
      records: [{ place: 'the end of the file', fault: 'its checksum does not fit', text: '' }],
      bytesRead,
      counted: 'message',
    }
}

function createMessageReader(origin: Origin, knownOffset: number | undefined) {
  const monitoring = createFitMonitoring(origin, knownOffset)
  const offsetMinutes = knownOffset ?? 0
  const read = (message: FitMessages, records: HealthRecord[]): void => {
    const { number, timestamp } = message
    monitoring.sees(timestamp ?? message.skippedTimestamp)
    if (number === MESSAGE.monitoringInfo) monitoring.begins(message)
    if (number === MESSAGE.monitoring) monitoring.read(message, records)
    else if (number === MESSAGE.session) records.push(sessionOf(message, { origin, offsetMinutes }))
    else if (number === MESSAGE.saturation && message.get(MEASURED_BY) === OFF_WRIST)
      records.push({ place: message.place, leftOut: 'a saturation that was taken off the wrist' })
    else readMoment(message, records)
  }
  const readMoment = (message: FitMessages, records: HealthRecord[]): void => {
    for (const [, field, , dataType, per] of fieldsByMessage.get(message.number) ?? []) {
      const value = message.get(field)
      // Devices write 0 for a heart rate that they did not find.
      if (value === undefined || value <= 0) continue
      const at = fitInstant(message.timestamp, offsetMinutes)
      if (!at) {
        records.push({
          place: message.place,
          fault: 'its time counts from when the device was switched on',
          text: '',
        })
        return
      }
      const isOfDay = message.number === MESSAGE.restingRate
      const identified = isOfDay ? { ...origin, ...restingRateOfDay(at, at.atMs) } : origin
      const draft = { dataType, value: value / per, start: at, end: at, origin: identified }
      records.push({ place: message.place, draft })
    }
  }
  return { read, end: monitoring.end }
}

function sessionOf(
  fields: FitMessage,
  { origin, offsetMinutes }: { readonly origin: Origin; readonly offsetMinutes: number },
): HealthRecord {
  const { place } = fields
  const start = fitInstant(fields.get(2), offsetMinutes)
  const elapsedMs = fields.get(7)
  if (!start || elapsedMs === undefined) return { place, fault: 'a session without its start or its length', text: '' }
  const end = later(start, elapsedMs)
  const frame: DraftFrame = { ...origin, recordingMethod: 'actively_recorded', start, end }
  return lastingRecord(place, sportName(fields.get(5), fields.get(6)), frame)
}

const unitsOf = (unit: string, per: number) => (per === 1 ? unit : `${unit} × ${per}`)

const mapping: readonly MappingRow[] = [
  ...fitFields.map(([, , name, to, per]) => ({ from: name, to, units: unitsOf(measureOf(to).unit, per) })),
  {
    from: 'monitoring, cycles',
    to: 'steps',
    units: 'cycles × 2, of walking and running',
    note: 'counts go on for a day: a log is what came since the message before, and one more the total of the day',
  },
  { from: 'monitoring, heart_rate', to: 'heart_rate', units: 'bpm' },
  { from: 'session', to: 'exercise_session_<sport>', units: 'from start to end' },
  ...leftOutRows([
    ['spo2_data of mode off_wrist', 'nobody wore the watch'],
    ['session, sums and means', 'its records, and monitoring, have the parts'],
    ['monitoring, calories, distance, active time', 'counts of a day and a kind of activity, which overlap'],
    ['sleep_level', 'whether a level begins or ends with its time is not documented'],
    ['any other message', 'nothing is derived from it'],
  ]),
]

/** FIT: files of Garmin and others, as they lie on a device or in the export of an account. Times are UTC. */
export const garminFit: HealthFormat = {
  name: 'garmin-fit',
  title: 'Garmin FIT',
  vendor: 'garmin',
  files: 'FIT files of activities, monitoring and scales, or a zip or folder of them',
  checked: 'published files of many devices (above), and files of our own writer',
  years: 'devices up to the Fenix 5 of 2017; no published file of monitoring was read',
  mapping,
  detects: ({ bytes }) => isFit(bytes),
  read: readGarminFit,
}

/** By their numbers, from 0. */
const sports = (
  'other running cycling transition fitness_equipment swimming basketball soccer tennis american_football training walking ' +
  'cross_country_skiing alpine_skiing snowboarding rowing mountaineering hiking multisport paddling flying e_biking ' +
  'motorcycling boating driving golf hang_gliding horseback_riding hunting fishing inline_skating rock_climbing sailing ' +
  'ice_skating sky_diving snowshoeing snowmobiling stand_up_paddleboarding surfing wakeboarding water_skiing kayaking rafting ' +
  'windsurfing kitesurfing tactical jumpmaster boxing floor_climbing'
).split(' ')

/** Kinds of training that have a number below that of the sport only. */
const trainings: ReadonlyMap<number, string> = new Map([
  [20, 'strength_training'],
  [26, 'cardio_training'],
  [43, 'yoga'],
  [44, 'pilates'],
])
const TRAINING = 10
const FITNESS_EQUIPMENT = 4
const HIGH_INTENSITY = 62

function sportName(sport = 0, subSport = -1): SessionName {
  const training = sport === TRAINING || sport === FITNESS_EQUIPMENT ? trainings.get(subSport) : undefined
  const name = sport === HIGH_INTENSITY ? 'hiit' : (training ?? sports[sport] ?? 'other')
  return `exercise_session_${name}`
}
