/**
 * Columns of values as Postgres's own binary arrays. As parameters of `unnest` they are a third faster to send than
 * arrays as text, because no record has to be quoted and unquoted again.
 */
export type ColumnType = 'int4' | 'int8' | 'text' | 'timestamptz' | 'float8' | 'bool' | 'date' | 'digest' | 'bytea'

const oids: Record<ColumnType, number> = {
  int4: 23,
  int8: 20,
  text: 25,
  timestamptz: 1184,
  float8: 701,
  bool: 16,
  date: 1082,
  digest: 20,
  bytea: 17,
}

const HEADER_BYTES = 20
/** 2000-01-01T00:00:00Z, from which Postgres counts. */
const POSTGRES_EPOCH_MS = 946_684_800_000
const DAY_MS = 86_400_000
const TWO_32 = 4_294_967_296

let scratch = Buffer.allocUnsafe(1 << 20)

function room(offset: number, bytes: number): void {
  if (offset + bytes <= scratch.length) return
  const larger = Buffer.allocUnsafe(Math.max(scratch.length * 2, offset + bytes))
  scratch.copy(larger, 0, 0, offset)
  scratch = larger
}

export type Cell = string | number | boolean | null

/**
 * `int8` takes whole numbers or their decimal text, `timestamptz` microseconds since 1970, `date` any millisecond of the
 * day in UTC, `digest` eight characters of one byte each, `bytea` any number of them. Null stands for null everywhere.
 */
export const binaryArray = (type: ColumnType, values: readonly Cell[]): Buffer => binaryColumn(type, values, itself)

const itself = (value: Cell) => value

/** The same of one property of many items, without gathering its values first. */
export function binaryColumn<T>(type: ColumnType, values: readonly T[], cell: (item: T) => Cell): Buffer {
  room(0, HEADER_BYTES + values.length * 12)
  let at = HEADER_BYTES
  let nulls = 0
  for (const item of values) {
    const value = cell(item)
    if (value === null) {
      room(at, 4)
      at = scratch.writeInt32BE(-1, at)
      nulls = 1
    } else {
      at = writeValue(type, value, at)
    }
  }
  scratch.writeInt32BE(values.length === 0 ? 0 : 1, 0)
  scratch.writeInt32BE(nulls, 4)
  scratch.writeInt32BE(oids[type], 8)
  scratch.writeInt32BE(values.length, 12)
  scratch.writeInt32BE(1, 16)
  return Buffer.from(scratch.subarray(0, values.length === 0 ? 12 : at))
}

const COPY_HEADER = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')

export type CopyColumn<T> = { readonly type: ColumnType; readonly cell: (item: T) => Cell }

/** Bytes in memory that others will use again: they hold still until they are given back, once. */
export type LentBytes = { readonly data: Buffer; readonly giveBack: () => void }

/** Larger memory than this is not kept. */
const SPARE_BYTES_MAX = 8 << 20
const spare: Buffer<ArrayBuffer>[] = []

/** Fresh memory costs a page fault for every four kilobytes, which is more than filling it does. */
function lend(bytes: number): LentBytes {
  const lent = scratch
  scratch = spare.pop() ?? Buffer.allocUnsafe(1 << 20)
  return {
    data: lent.subarray(0, bytes),
    giveBack: () => {
      if (lent.length <= SPARE_BYTES_MAX) spare.push(lent)
    },
  }
}

/** Rows as COPY takes them in its binary format. */
export function binaryRows<T>(items: readonly T[], columns: ReadonlyArray<CopyColumn<T>>): LentBytes {
  room(0, COPY_HEADER.length)
  let at = COPY_HEADER.copy(scratch)
  for (const item of items) {
    room(at, 6)
    at = scratch.writeInt16BE(columns.length, at)
    for (const { type, cell } of columns) {
      const value = cell(item)
      if (value === null) {
        room(at, 4)
        at = scratch.writeInt32BE(-1, at)
      } else at = writeValue(type, value, at)
    }
  }
  room(at, 2)
  return lend(scratch.writeInt16BE(-1, at))
}

function writeValue(type: ColumnType, value: Exclude<Cell, null>, at: number): number {
  if (type === 'text') return writeText(String(value), at)
  if (type === 'bytea') return writeBytes(String(value), at)
  room(at, 12)
  switch (type) {
    case 'digest':
      if (String(value).length !== 8) throw new TypeError('encode digest: not eight bytes')
      scratch.writeInt32BE(8, at)
      return at + 4 + scratch.write(String(value), at + 4, 'latin1')
    case 'float8':
      return scratch.writeDoubleBE(Number(value), scratch.writeInt32BE(8, at))
    case 'bool':
      return scratch.writeUInt8(value ? 1 : 0, scratch.writeInt32BE(1, at))
    case 'date':
      return scratch.writeInt32BE(Math.floor((Number(value) - POSTGRES_EPOCH_MS) / DAY_MS), scratch.writeInt32BE(4, at))
    case 'timestamptz':
      return writeInt64(Number(value) - POSTGRES_EPOCH_MS * 1000, at)
    case 'int4':
      return scratch.writeInt32BE(Number(value), scratch.writeInt32BE(4, at))
    case 'int8':
      return writeInt64(Number(value), at)
  }
}

function writeBytes(bytes: string, at: number): number {
  room(at, 4 + bytes.length)
  return at + 4 + scratch.write(bytes, scratch.writeInt32BE(bytes.length, at), 'latin1')
}

/** Up to this many characters a loop is quicker than the way to the runtime's own encoder and back. */
const SHORT = 32

function writeText(text: string, at: number): number {
  room(at, 8 + text.length * 3)
  const bytes = text.length <= SHORT && writeShort(text, at + 4) ? text.length : scratch.write(text, at + 4, 'utf8')
  scratch.writeInt32BE(bytes, at)
  return at + 4 + bytes
}

/** False where it is not plain ASCII; then what was written counts for nothing. */
function writeShort(text: string, at: number): boolean {
  const { length } = text
  for (let index = 0; index < length; index++) {
    const code = text.charCodeAt(index)
    if (code > 127) return false
    scratch[at + index] = code
  }
  return true
}

function writeInt64(value: number, at: number): number {
  if (!Number.isSafeInteger(value)) throw new RangeError('encode a 64-bit number: not a safe whole number')
  const high = Math.floor(value / TWO_32)
  scratch.writeInt32BE(8, at)
  scratch.writeInt32BE(high, at + 4)
  return scratch.writeUInt32BE(value - high * TWO_32, at + 8)
}
