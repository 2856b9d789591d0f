import { UsageProblem } from '../../../base/errors.ts'
import { SECOND } from '../../../base/time/units.ts'
import type { SourceInstant } from '../export-format.ts'

/**
 * A message: its number, and its fields by theirs. A field that is not set is absent; of a list the first value counts. `fileIndex` counts
 * the files that follow one another in one: each has a device and a clock of its own.
 */
export type FitMessage = {
  readonly fileIndex: number
  /** Its place among all messages of its file, from 1. */
  readonly place: number
  readonly number: number
  /** The last whole time of the messages before it that were not wanted. */
  readonly skippedTimestamp: number | undefined
  readonly fields: ReadonlyMap<number, number>
  readonly end: number
}

type Field = { readonly number: number; readonly at: number; readonly base: BaseType }

type Definition = {
  readonly number: number
  readonly isWanted: boolean
  readonly littleEndian: boolean
  /** The fields that are read, each from the beginning of the message. */
  readonly fields: readonly Field[]
  readonly timestamp: Field | undefined
  /** The length of a message, with the fields that an app on the device added. */
  readonly bytes: number
}

/** By base type: how long a value is, how it is read, and the value that stands for none. */
type BaseType = {
  readonly size: number
  readonly none: number
  readonly read: (bytes: Buffer, at: number, littleEndian: boolean) => number
}

const byte = (none: number): BaseType => ({ size: 1, none, read: (bytes, at) => bytes.readUInt8(at) })

const wide = (size: number, type: 'Int16' | 'UInt16' | 'Int32' | 'UInt32' | 'Float', none: number): BaseType => {
  const [little, big] = [`read${type}LE`, `read${type}BE`] as const
  return { size, none, read: (bytes, at, littleEndian) => bytes[littleEndian ? little : big](at) }
}

const baseTypes: ReadonlyMap<number, BaseType> = new Map([
  [0x00, byte(0xff)],
  [0x01, { size: 1, none: 0x7f, read: (bytes, at) => bytes.readInt8(at) }],
  [0x02, byte(0xff)],
  [0x0a, byte(0)],
  [0x0d, byte(0xff)],
  [0x83, wide(2, 'Int16', 0x7fff)],
  [0x84, wide(2, 'UInt16', 0xffff)],
  [0x8b, wide(2, 'UInt16', 0)],
  [0x85, wide(4, 'Int32', 0x7fffffff)],
  [0x86, wide(4, 'UInt32', 0xffffffff)],
  [0x8c, wide(4, 'UInt32', 0)],
  [0x88, wide(4, 'Float', Number.NaN)],
])

/** The number of the field that holds a time, which a short form of a header may hold instead. */
export const TIMESTAMP = 253

const SIGNATURE = '.FIT'
const HEADER_SIZES = [12, 14]

export const isFit = (bytes: Buffer): boolean =>
  bytes.length >= 12 && HEADER_SIZES.includes(bytes.readUInt8(0)) && bytes.toString('latin1', 8, 12) === SIGNATURE

/**
 * The messages of a file, in their order. Files may follow one another in one. Every length comes from the file itself, so each
 * is checked against its end: a file that breaks is read up to there, and then throws. With `wanted`, messages of other numbers
 * are skipped.
 */
export function* readFitMessages(bytes: Buffer, name: string, wanted?: ReadonlySet<number>): Generator<FitMessage> {
  let start = 0
  for (let fileIndex = 0; start < bytes.length; fileIndex += 1) {
    if (!isFit(bytes.subarray(start))) throw new UsageProblem(`read ${name}: it is no whole FIT file`)
    const headerSize = bytes.readUInt8(start)
    const end = start + headerSize + bytes.readUInt32LE(start + 4)
    yield* messagesIn(bytes.subarray(0, end), start + headerSize, { fileIndex, wanted })
    if (end > bytes.length) throw new UsageProblem(`read ${name}: it ends in the middle`)
    start = end + 2
  }
}

function* messagesIn(
  bytes: Buffer,
  begin: number,
  { fileIndex, wanted }: { readonly fileIndex: number; readonly wanted: ReadonlySet<number> | undefined },
): Generator<FitMessage> {
  const definitions = new Map<number, Definition>()
  let lastTimestamp = 0
  let skippedTimestamp: number | undefined
  let place = 0
  let at = begin
  while (at < bytes.length) {
    const header = bytes.readUInt8(at)
    at += 1
    if ((header & 0xc0) === 0x40) {
      const { definition, next } = definitionAt(bytes, at, { hasAdded: (header & 0x20) !== 0, wanted })
      definitions.set(header & 0x0f, definition)
      at = next
      continue
    }
    const isShort = (header & 0x80) !== 0
    const definition = definitions.get(isShort ? (header >> 5) & 0x03 : header & 0x0f)
    if (!definition) throw new UsageProblem('a message has no definition')
    requireBytes(bytes, at + definition.bytes)
    // Five bits of seconds since the last whole time, which wrap.
    const shortTime = isShort ? lastTimestamp + (((header & 0x1f) - lastTimestamp) & 0x1f) : undefined
    const timestamp = shortTime ?? timestampAt(bytes, at, definition)
    lastTimestamp = timestamp ?? lastTimestamp
    place += 1
    const end = at + definition.bytes
    if (definition.isWanted) {
      const fields = fieldsAt(bytes, at, definition)
      if (timestamp !== undefined) fields.set(TIMESTAMP, timestamp)
      yield { fileIndex, place, number: definition.number, skippedTimestamp, fields, end }
      skippedTimestamp = undefined
    } else skippedTimestamp = timestamp ?? skippedTimestamp
    at = end
  }
}

function definitionAt(
  bytes: Buffer,
  at: number,
  { hasAdded, wanted }: { readonly hasAdded: boolean; readonly wanted: ReadonlySet<number> | undefined },
): { definition: Definition; next: number } {
  requireBytes(bytes, at + 5)
  const littleEndian = bytes.readUInt8(at + 1) === 0
  const number = littleEndian ? bytes.readUInt16LE(at + 2) : bytes.readUInt16BE(at + 2)
  const count = bytes.readUInt8(at + 4)
  let next = at + 5 + count * 3
  requireBytes(bytes, next)
  const isWanted = wanted === undefined || wanted.has(number)
  const fields: Field[] = []
  let timestamp: Field | undefined
  let length = 0
  for (let index = 0; index < count; index += 1) {
    const [fieldNumber = 0, size = 0, type = 0] = bytes.subarray(at + 5 + index * 3, at + 8 + index * 3)
    const base = baseTypes.get(type)
    if (base && size >= base.size) {
      const field = { number: fieldNumber, at: length, base }
      if (fieldNumber === TIMESTAMP) timestamp = field
      else if (isWanted) fields.push(field)
    }
    length += size
  }
  if (hasAdded) {
    requireBytes(bytes, next + 1)
    const added = bytes.readUInt8(next)
    requireBytes(bytes, next + 1 + added * 3)
    for (let index = 0; index < added; index += 1) length += bytes.readUInt8(next + 2 + index * 3)
    next += 1 + added * 3
  }
  return { definition: { number, isWanted, littleEndian, timestamp, fields, bytes: length }, next }
}

function timestampAt(bytes: Buffer, begin: number, { timestamp, littleEndian }: Definition): number | undefined {
  if (!timestamp) return undefined
  const value = timestamp.base.read(bytes, begin + timestamp.at, littleEndian)
  return value === timestamp.base.none ? undefined : value
}

function fieldsAt(bytes: Buffer, begin: number, { fields, littleEndian }: Definition): Map<number, number> {
  const values = new Map<number, number>()
  for (const { number, at, base } of fields) {
    const value = base.read(bytes, begin + at, littleEndian)
    if (value !== base.none && !Number.isNaN(value)) values.set(number, value)
  }
  return values
}

function requireBytes(bytes: Buffer, end: number): void {
  if (end > bytes.length) throw new UsageProblem('a message reaches beyond the end of the file')
}

/** For each byte, the checksum of that byte alone. */
const crcTable = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit += 1) crc = (crc & 1) === 1 ? (crc >> 1) ^ 0xa001 : crc >> 1
  return crc
})

/** The checksum of a file: CRC-16 with the polynomial 0x8005, mirrored, a byte at a time. */
export function fitChecksum(bytes: Buffer): number {
  let crc = 0
  for (let at = 0; at < bytes.length; at += 1) crc = (crc >> 8) ^ (crcTable[(crc ^ (bytes[at] ?? 0)) & 0xff] ?? 0)
  return crc
}

/** Seconds from 1970 to the last day of 1989, from which a device counts. Smaller ones count from when it was switched on. */
const EPOCH_SECONDS = 631_065_600
const SINCE_SWITCHED_ON = 0x10000000

/** The instant of a time in a FIT file; undefined where the device had no clock. */
export const fitInstant = (seconds: number | undefined, offsetMinutes: number): SourceInstant | undefined =>
  seconds === undefined || seconds < SINCE_SWITCHED_ON
    ? undefined
    : { atMs: (seconds + EPOCH_SECONDS) * SECOND, offsetMinutes }
