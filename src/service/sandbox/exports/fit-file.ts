/** One field of a message: its number, the number of its base type, and how many bytes that has. */
type FieldForm = readonly [number: number, type: number, size: 1 | 2 | 4]

export const fitTypes = { enum: 0x00, uint8: 0x02, uint16: 0x84, uint32: 0x86 } as const

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
  for (const one of bytes) {
    crc ^= one
    for (let bit = 0; bit < 8; bit += 1) crc = (crc & 1) === 1 ? (crc >> 1) ^ 0xa001 : crc >> 1
  }
  return crc
}
