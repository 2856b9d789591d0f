import { UsageProblem } from '../../../base/errors.ts'
import { SECOND } from '../../../base/time/units.ts'
import type { SourceInstant } from '../export-format.ts'

/** A message, or the beginning of a file, whose values are decoded when they are asked for. */
export type FitFields = { get(field: number): number | undefined }

export type FitMessage = FitFields & { readonly place: number }

type Field = { readonly at: number; readonly base: BaseType }

type Definition = {
  readonly number: number
  readonly isWanted: boolean
  readonly littleEndian: boolean
  /** The fields that can be read, each at the index of its number. */
  readonly fields: readonly Field[]
  readonly fieldNumbers: readonly number[]
  readonly timestamp: Field | undefined
  /** The length of a message, with the fields that an app on the device added. */
  readonly bytes: number
}

const noDefinition: Definition = {
  number: -1,
  isWanted: false,
  littleEndian: true,
  fields: [],
  fieldNumbers: [],
  timestamp: undefined,
  bytes: 0,
}

/** By base type: how long a value is, how it is read, and the value that stands for none. */
type BaseType = {
  readonly size: number
  readonly kind: 'unsigned' | 'signed' | 'float'
  readonly none: number
}

const unsigned = (size: number, none: number): BaseType => ({ size, kind: 'unsigned', none })
const signed = (size: number, none: number): BaseType => ({ size, kind: 'signed', none })

const baseTypes: ReadonlyMap<number, BaseType> = new Map([
  [0x00, unsigned(1, 0xff)],
  [0x01, signed(1, 0x7f)],
  [0x02, unsigned(1, 0xff)],
  [0x0a, unsigned(1, 0)],
  [0x0d, unsigned(1, 0xff)],
  [0x83, signed(2, 0x7fff)],
  [0x84, unsigned(2, 0xffff)],
  [0x8b, unsigned(2, 0)],
  [0x85, signed(4, 0x7fffffff)],
  [0x86, unsigned(4, 0xffffffff)],
  [0x8c, unsigned(4, 0)],
  [0x88, { size: 4, kind: 'float', none: Number.NaN }],
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
 * are skipped. `next` moves on to the next message and is false after the last one; no object is made for a message.
 */
export class FitMessages implements FitFields {
  /** Counts the files that follow one another in one: each has a device and a clock of its own. */
  fileIndex = -1
  /** The place of the message among all messages of its file, from 1. */
  place = 0
  number = 0
  /** The time of the message, from a field or from a short header. */
  timestamp: number | undefined
  /** The last whole time of the messages before it that were not wanted. */
  skippedTimestamp: number | undefined
  /** Where the message ends. */
  end = 0
  private readonly bytes: Buffer
  private readonly view: DataView
  private readonly name: string
  private readonly wanted: ReadonlySet<number> | undefined
  private definitions: Definition[] = []
  private definition = noDefinition
  private at = 0
  private lastTimestamp = 0
  /** Where the messages of the file end by its header, and as far as the bytes reach. */
  private fileEnd = 0
  private readableEnd = 0

  constructor(bytes: Buffer, name: string, wanted?: ReadonlySet<number>) {
    this.bytes = bytes
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.name = name
    this.wanted = wanted
  }

  next(): boolean {
    this.skippedTimestamp = undefined
    for (;;) {
      if (this.at >= this.readableEnd && !this.openNextFile()) return false
      while (this.at < this.readableEnd) if (this.readOne()) return true
    }
  }

  /** A field of the message; undefined where it is not set. The first value of a list counts. */
  get(number: number): number | undefined {
    if (number === TIMESTAMP) return this.timestamp
    const field = this.definition.fields[number]
    return field && this.valueOf(field)
  }

  /** The fields that the message may have, but for its time. */
  fieldNumbers(): readonly number[] {
    return this.definition.fieldNumbers
  }

  private openNextFile(): boolean {
    if (this.fileEnd > this.bytes.length) throw new UsageProblem(`read ${this.name}: it ends in the middle`)
    const start = this.fileIndex < 0 ? 0 : this.fileEnd + 2
    if (start >= this.bytes.length) return false
    if (!isFit(this.bytes.subarray(start))) throw new UsageProblem(`read ${this.name}: it is no whole FIT file`)
    this.at = start + this.view.getUint8(start)
    this.fileEnd = this.at + this.view.getUint32(start + 4, true)
    this.readableEnd = Math.min(this.fileEnd, this.bytes.length)
    this.fileIndex += 1
    this.place = 0
    this.lastTimestamp = 0
    this.definitions = []
    this.skippedTimestamp = undefined
    return true
  }

  /** Reads a definition or a message; returns whether it was a wanted message. */
  private readOne(): boolean {
    const header = this.view.getUint8(this.at)
    const at = this.at + 1
    if ((header & 0xc0) === 0x40) {
      const { definition, next } = definitionAt(this.view, at, {
        end: this.readableEnd,
        hasAdded: (header & 0x20) !== 0,
        wanted: this.wanted,
      })
      this.definitions[header & 0x0f] = definition
      this.at = next
      return false
    }
    const isShort = (header & 0x80) !== 0
    const definition = this.definitions[isShort ? (header >> 5) & 0x03 : header & 0x0f]
    if (!definition) throw new UsageProblem('a message has no definition')
    requireBytes(this.readableEnd, at + definition.bytes)
    this.definition = definition
    this.end = at + definition.bytes
    // Five bits of seconds since the last whole time, which wrap.
    const shortTime = isShort ? this.lastTimestamp + (((header & 0x1f) - this.lastTimestamp) & 0x1f) : undefined
    this.timestamp = shortTime ?? (definition.timestamp && this.valueOf(definition.timestamp))
    this.lastTimestamp = this.timestamp ?? this.lastTimestamp
    this.place += 1
    this.number = definition.number
    this.at = this.end
    if (!definition.isWanted) this.skippedTimestamp = this.timestamp ?? this.skippedTimestamp
    return definition.isWanted
  }

  private valueOf({ at: place, base: { size, kind, none } }: Field): number | undefined {
    const { view } = this
    const { bytes, littleEndian } = this.definition
    const at = this.end - bytes + place
    let value: number
    if (kind === 'unsigned') {
      if (size === 1) value = view.getUint8(at)
      else value = size === 2 ? view.getUint16(at, littleEndian) : view.getUint32(at, littleEndian)
    } else if (kind === 'signed') {
      if (size === 1) value = view.getInt8(at)
      else value = size === 2 ? view.getInt16(at, littleEndian) : view.getInt32(at, littleEndian)
    } else value = view.getFloat32(at, littleEndian)
    return value === none || Number.isNaN(value) ? undefined : value
  }
}

function definitionAt(
  view: DataView,
  at: number,
  {
    end,
    hasAdded,
    wanted,
  }: { readonly end: number; readonly hasAdded: boolean; readonly wanted: ReadonlySet<number> | undefined },
): { definition: Definition; next: number } {
  requireBytes(end, at + 5)
  const littleEndian = view.getUint8(at + 1) === 0
  const number = view.getUint16(at + 2, littleEndian)
  const count = view.getUint8(at + 4)
  let next = at + 5 + count * 3
  requireBytes(end, next)
  const isWanted = wanted === undefined || wanted.has(number)
  const fields: Field[] = []
  const fieldNumbers: number[] = []
  let timestamp: Field | undefined
  let length = 0
  for (let index = 0; index < count; index += 1) {
    const fieldAt = at + 5 + index * 3
    const fieldNumber = view.getUint8(fieldAt)
    const size = view.getUint8(fieldAt + 1)
    const base = baseTypes.get(view.getUint8(fieldAt + 2))
    if (base && size >= base.size) {
      const field = { at: length, base }
      if (fieldNumber === TIMESTAMP) timestamp = field
      else if (isWanted) {
        fields[fieldNumber] = field
        fieldNumbers.push(fieldNumber)
      }
    }
    length += size
  }
  if (hasAdded) {
    requireBytes(end, next + 1)
    const added = view.getUint8(next)
    requireBytes(end, next + 1 + added * 3)
    for (let index = 0; index < added; index += 1) length += view.getUint8(next + 2 + index * 3)
    next += 1 + added * 3
  }
  return { definition: { number, isWanted, littleEndian, timestamp, fields, fieldNumbers, bytes: length }, next }
}

function requireBytes(readableEnd: number, end: number): void {
  if (end > readableEnd) throw new UsageProblem('a message reaches beyond the end of the file')
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
