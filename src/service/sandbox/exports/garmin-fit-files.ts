import { DAY } from '../../../base/time/units.ts'
import { byExercise, ofType, sessionsOf, type TimedLog, type ZipPart } from './timed-logs.ts'

export const fitTypes = { enum: 0x00, uint8: 0x02, uint16: 0x84, uint32: 0x86 } as const
const { uint8, uint16, uint32 } = fitTypes
const TIMESTAMP = [253, uint32, 4] as const
const form = (number: number, ...fields: readonly FieldForm[]): FitForm => ({ number, fields })
const forms = {
  fileId: form(0, [0, fitTypes.enum, 1], [1, uint16, 2], [2, uint16, 2], [4, uint32, 4]),
  monitoringInfo: form(103, TIMESTAMP, [0, uint32, 4]),
  steps: form(55, [26, uint16, 2], [3, uint32, 4], [24, uint8, 1]),
  beats: form(55, [26, uint16, 2], [27, uint8, 1]),
  resting: form(211, TIMESTAMP, [1, uint8, 1]),
  weight: form(30, TIMESTAMP, [0, uint16, 2]),
  session: form(18, TIMESTAMP, [2, uint32, 4], [7, uint32, 4], [5, fitTypes.enum, 1], [6, fitTypes.enum, 1]),
  activity: form(34, TIMESTAMP, [5, uint32, 4]),
}
const file = { activity: 4, weight: 9, monitoring: 32 }
const GARMIN = 1
const WALKING = 6

const sports = byExercise<readonly [sport: number, subSport: number]>({
  running: [1, 0],
  cycling: [2, 0],
  swimming: [5, 0],
  strength_training: [10, 20],
  yoga: [10, 43],
})

/** The logs of a watch and a scale as FIT files: one of monitoring for each local day, one for each session, one of the scale. */
export function garminFitFiles(timed: readonly TimedLog[]): ZipPart[] {
  const watch = timed.filter(({ log }) => log.deviceType === 'watch')
  const days = Map.groupBy(watch, ({ startMs, wallShiftMs }) => Math.floor((startMs + wallShiftMs) / DAY))
  return [
    ...[...days].map(([day, dayLogs]) => ({ name: `MONITOR/${day}.fit`, data: monitoringFile(day, dayLogs) })),
    ...sessionsOf(watch).map((sample) => ({
      name: `ACTIVITY/${sample.startMs}.fit`,
      data: activityFile(sample),
    })),
    { name: 'WEIGHT/scale.fit', data: weightFile(ofType(timed, 'weight')) },
  ]
}

const fileId = (type: number, atMs: number): FitRow => ({
  form: forms.fileId,
  values: [type, GARMIN, 2697, fitSeconds(atMs)],
})

/** Counts that go on from midnight, and times of sixteen bits. */
function monitoringFile(day: number, dayLogs: readonly TimedLog[]): Buffer {
  const wallShiftMs = dayLogs[0]?.wallShiftMs ?? 0
  const beginMs = day * DAY - wallShiftMs
  const begin = [fitSeconds(beginMs), fitSeconds(beginMs + wallShiftMs)]
  let counted = 0
  const stepRows = ofType(dayLogs, 'steps').flatMap(({ log, startMs, endMs }) => {
    const before = { atMs: startMs, row: stepsRow(startMs, counted) }
    counted += log.value
    return [before, { atMs: endMs, row: stepsRow(endMs, counted) }]
  })
  const beatRows = ofType(dayLogs, 'heart_rate').map(({ log, startMs }) => ({
    atMs: startMs,
    row: { form: forms.beats, values: [fitSeconds(startMs) & 0xffff, log.value] },
  }))
  const restingRows = ofType(dayLogs, 'resting_heart_rate').map(({ log, startMs }) => ({
    atMs: startMs,
    row: { form: forms.resting, values: [fitSeconds(startMs), log.value] },
  }))
  const rows = [...stepRows, ...beatRows, ...restingRows].toSorted((a, b) => a.atMs - b.atMs).map(({ row }) => row)
  return fitFile([fileId(file.monitoring, beginMs), { form: forms.monitoringInfo, values: begin }, ...rows])
}

const stepsRow = (atMs: number, counted: number): FitRow => ({
  form: forms.steps,
  values: [fitSeconds(atMs) & 0xffff, counted, WALKING],
})

function activityFile(sample: TimedLog): Buffer {
  const { startMs, endMs, wallShiftMs, log } = sample
  const [sport, subSport] = sports[log.dataType] ?? [0, 0]
  const elapsedMs = endMs - startMs
  return fitFile([
    fileId(file.activity, startMs),
    { form: forms.session, values: [fitSeconds(endMs), fitSeconds(startMs), elapsedMs, sport, subSport] },
    { form: forms.activity, values: [fitSeconds(endMs), fitSeconds(endMs + wallShiftMs)] },
  ])
}

const weightFile = (weights: readonly TimedLog[]): Buffer =>
  fitFile([
    fileId(file.weight, weights[0]?.startMs ?? Date.UTC(2026, 0, 1)),
    ...weights.map(({ startMs, log }) => ({
      form: forms.weight,
      values: [fitSeconds(startMs), Math.round(log.value * 100)],
    })),
  ])

/** One field of a message: its number, the number of its base type, and how many bytes that has. */
type FieldForm = readonly [number: number, type: number, size: 1 | 2 | 4]

type FitForm = { readonly number: number; readonly fields: readonly FieldForm[] }
type FitRow = { readonly form: FitForm; readonly values: readonly number[] }

const HEADER_BYTES = 14
const PROTOCOL = 0x10
const PROFILE = 2132
/** Devices count seconds from the last day of 1989. */
const EPOCH_MS = Date.UTC(1989, 11, 31)

export const fitSeconds = (atMs: number): number => Math.round((atMs - EPOCH_MS) / 1000)

/** A FIT file of these messages. Each form is defined once, under a number of its own. */
export function fitFile(rows: readonly FitRow[]): Buffer {
  const forms: FitForm[] = []
  const body = rows.flatMap(({ form, values }) => {
    const known = forms.indexOf(form)
    const local = known >= 0 ? known : forms.push(form) - 1
    const written = Buffer.concat([
      Buffer.from([local]),
      ...form.fields.map(([, , size], at) => bytesOf(values[at] ?? 0, size)),
    ])
    return known >= 0 ? [written] : [definitionOf(form, local), written]
  })
  const data = Buffer.concat(body)
  const header = Buffer.alloc(HEADER_BYTES)
  header.writeUInt8(HEADER_BYTES, 0)
  header.writeUInt8(PROTOCOL, 1)
  header.writeUInt16LE(PROFILE, 2)
  header.writeUInt32LE(data.length, 4)
  header.write('.FIT', 8, 'latin1')
  header.writeUInt16LE(checksum(header.subarray(0, 12)), 12)
  const whole = Buffer.concat([header, data])
  return Buffer.concat([whole, bytesOf(checksum(whole), 2)])
}

function definitionOf({ number, fields }: FitForm, local: number): Buffer {
  const head = Buffer.from([0x40 | local, 0, 0, number & 0xff, number >> 8, fields.length])
  return Buffer.concat([head, ...fields.map(([field, type, size]) => Buffer.from([field, size, type]))])
}

function bytesOf(value: number, size: 1 | 2 | 4): Buffer {
  const bytes = Buffer.alloc(size)
  bytes.writeUIntLE(value % 2 ** (8 * size), 0, size)
  return bytes
}

/** CRC-16, mirrored, bit by bit. */
function checksum(bytes: Buffer): number {
  let crc = 0
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit += 1) crc = (crc & 1) === 1 ? (crc >> 1) ^ 0xa001 : crc >> 1
  }
  return crc
}
