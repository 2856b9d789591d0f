import { crc32, deflateRawSync } from 'node:zlib'
import { checkedInstant, formatInstant } from '../../../base/time/instant.ts'
import { MINUTE, SECOND } from '../../../base/time/units.ts'
import type { SampleLog } from '../people/sample-logs.ts'

/** A log with its times as numbers, and how far its clock is ahead of UTC. */
export type TimedLog = {
  readonly log: SampleLog
  readonly startMs: number
  readonly endMs: number
  readonly wallShiftMs: number
}

export function timedLog(log: SampleLog): TimedLog {
  const [start, end] = [checkedInstant(log.startDateTime), checkedInstant(log.endDateTime)]
  return { log, startMs: start.epochMs, endMs: end.epochMs, wallShiftMs: start.offsetMinutes * MINUTE }
}

export const ofType = (timed: readonly TimedLog[], dataType: string | RegExp) =>
  timed.filter(({ log }) => (typeof dataType === 'string' ? log.dataType === dataType : dataType.test(log.dataType)))

const SESSION = 'exercise_session_'

export const sessionsOf = (timed: readonly TimedLog[]) => timed.filter(({ log }) => log.dataType.startsWith(SESSION))

/** `strength_training` */
export const exerciseOf = ({ log }: TimedLog): string => log.dataType.replace(SESSION, '')

/** The code that an app writes for each stage of sleep, by the data type. */
export const byStage = <T>(codes: Readonly<Record<'awake' | 'light' | 'deep' | 'rem', T>>) =>
  prefixed('sleep_stage_', codes)

type Exercise = 'running' | 'strength_training' | 'cycling' | 'swimming' | 'yoga'

/** The code that an app writes for each exercise, by the data type. */
export const byExercise = <T>(codes: Readonly<Record<Exercise, T>>) => prefixed(SESSION, codes)

const prefixed = <T>(prefix: string, codes: Readonly<Record<string, T>>): Readonly<Record<string, T>> =>
  Object.fromEntries(Object.entries(codes).map(([name, code]) => [prefix + name, code]))

/** `2026-03-29T07:45:03.000` on the clock of the log. */
export const wallText = (atMs: number, { wallShiftMs }: TimedLog): string =>
  new Date(atMs + wallShiftMs).toISOString().slice(0, -1)

/** `2026-03-29 07:45:03` on the clock of the log. */
export const wallSeconds = (atMs: number, timed: TimedLog): string =>
  wallText(atMs, timed).slice(0, 19).replace('T', ' ')

/** `2026-03-29T07:45:03+01:00`, in the offset of the log. */
export const offsetText = (atMs: number, { wallShiftMs }: TimedLog): string =>
  formatInstant({ epochMs: atMs, offsetMinutes: wallShiftMs / MINUTE })

/** The nights of a person, each with its stages in order of time. */
export const nightsOf = (timed: readonly TimedLog[]) =>
  ofType(timed, 'sleep_stage_in_bed').map((night) => ({
    night,
    stages: timed.filter(({ log }) => log.parentId !== undefined && log.parentId === night.log.id),
  }))

/** The seconds of a stage of sleep in a night. */
export const stageSeconds = (stages: readonly TimedLog[], stage: string): number =>
  ofType(stages, `sleep_stage_${stage}`).reduce((sum, sample) => sum + secondsOf(sample), 0)

/** The whole steps of each minute of a log, the earlier minutes with the rest. */
export function stepMinutes({ log, startMs, endMs }: TimedLog): Array<{ atMs: number; steps: number }> {
  const minutes = (endMs - startMs) / MINUTE
  const [whole, rest] = [Math.floor(log.value / minutes), log.value % minutes]
  return Array.from({ length: minutes }, (_, index) => ({
    atMs: startMs + index * MINUTE,
    steps: whole + (index < rest ? 1 : 0),
  }))
}

export const minutesOf = ({ startMs, endMs }: TimedLog): number => (endMs - startMs) / MINUTE
export const secondsOf = ({ startMs, endMs }: TimedLog): number => (endMs - startMs) / SECOND

const textOf = (cell: string | number | undefined, delimiter: string): string => {
  const text = String(cell ?? '')
  return text.includes(delimiter) || text.includes('"') ? `"${text.replaceAll('"', '""')}"` : text
}

export type Cells = ReadonlyArray<string | number | undefined>

/** The text of a table: the names of its columns, and its rows. */
export const tableText = (columns: Cells, rows: readonly Cells[], delimiter = ','): Buffer =>
  Buffer.from(
    `${[columns, ...rows].map((row) => row.map((cell) => textOf(cell, delimiter)).join(delimiter)).join('\n')}\n`,
  )

export type ZipPart = { readonly name: string; readonly data: Buffer }

export const jsonPart = (name: string, value: unknown): ZipPart => ({ name, data: Buffer.from(JSON.stringify(value)) })

const VERSION = 20
const UTF8_NAMES = 0x0800
const DEFLATED = 8
/** 1 January 1980, the first day that a zip can name: the same content gives the same zip. */
const NO_DATE = 0x0021

/** A zip of a few files, in memory. */
export function zipOf(parts: readonly ZipPart[]): Buffer {
  const bodies: Buffer[] = []
  const list: Buffer[] = []
  let offset = 0
  for (const { name, data } of parts) {
    const packed = deflateRawSync(data)
    const nameBytes = Buffer.from(name, 'utf8')
    const shared = Buffer.alloc(26)
    shared.writeUInt16LE(VERSION, 0)
    shared.writeUInt16LE(UTF8_NAMES, 2)
    shared.writeUInt16LE(DEFLATED, 4)
    shared.writeUInt16LE(NO_DATE, 8)
    shared.writeUInt32LE(crc32(data), 10)
    shared.writeUInt32LE(packed.length, 14)
    shared.writeUInt32LE(data.length, 18)
    shared.writeUInt16LE(nameBytes.length, 22)
    const local = Buffer.concat([Buffer.from('PK\u0003\u0004', 'latin1'), shared, nameBytes, packed])
    const where = Buffer.alloc(14)
    where.writeUInt32LE(offset, 10)
    list.push(
      Buffer.concat([Buffer.from('PK\u0001\u0002', 'latin1'), Buffer.from([VERSION, 0]), shared, where, nameBytes]),
    )
    bodies.push(local)
    offset += local.length
  }
  const directory = Buffer.concat(list)
  const end = Buffer.alloc(22)
  end.write('PK\u0005\u0006', 'latin1')
  end.writeUInt16LE(parts.length, 8)
  end.writeUInt16LE(parts.length, 10)
  end.writeUInt32LE(directory.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...bodies, directory, end])
}
