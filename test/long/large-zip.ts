import { createWriteStream } from 'node:fs'
import { Readable, Transform } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'
import { crc32, createDeflateRaw } from 'node:zlib'

const SIZES_AFTER = 0x0008
const DEFLATED = 8
const VERSION = 20

/**
 * Writes a zip of one entry from a stream of texts, as a phone does that does not know beforehand how large the entry becomes:
 * its checksum and sizes stand after it. Gives the size of the entry, which must stay below 4 GiB.
 */
export async function writeLargeZip(path: string, entry: string, texts: AsyncIterable<string>): Promise<number> {
  const name = Buffer.from(entry)
  const sums = { crc: 0, size: 0, packed: 0 }
  const file = createWriteStream(path)
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      sums.crc = crc32(chunk, sums.crc)
      sums.size += chunk.length
      done(null, chunk)
    },
  })
  const packed = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      sums.packed += chunk.length
      done(null, chunk)
    },
  })
  const local = headOf('PK\u0003\u0004', { crc: 0, size: 0, packed: 0 }, name)
  file.write(Buffer.concat([local, name]))
  await pipeline(Readable.from(texts, { objectMode: false }), counted, createDeflateRaw({ level: 1 }), packed, file, {
    end: false,
  })
  file.end(endOf(name, local.length, sums))
  await finished(file)
  return sums.size
}

type Sums = { readonly crc: number; readonly size: number; readonly packed: number }

function headOf(signature: string, { crc, size, packed }: Sums, name: Buffer): Buffer {
  const head = Buffer.alloc(30)
  head.write(signature, 'latin1')
  head.writeUInt16LE(VERSION, 4)
  head.writeUInt16LE(SIZES_AFTER, 6)
  head.writeUInt16LE(DEFLATED, 8)
  head.writeUInt32LE(crc, 14)
  head.writeUInt32LE(packed, 18)
  head.writeUInt32LE(size, 22)
  head.writeUInt16LE(name.length, 26)
  return head
}

/** The sums of the entry, the list of entries, and the end of it. */
function endOf(name: Buffer, localBytes: number, sums: Sums): Buffer {
  const after = Buffer.alloc(16)
  after.write('PK\u0007\u0008', 'latin1')
  after.writeUInt32LE(sums.crc, 4)
  after.writeUInt32LE(sums.packed, 8)
  after.writeUInt32LE(sums.size, 12)
  // In the list the version of the writer stands before the fields that both heads share.
  const list = Buffer.alloc(46)
  list.write('PK\u0001\u0002', 'latin1')
  list.writeUInt16LE(VERSION, 4)
  headOf('', sums, name).copy(list, 6, 4, 30)
  const end = Buffer.alloc(22)
  end.write('PK\u0005\u0006', 'latin1')
  end.writeUInt16LE(1, 8)
  end.writeUInt16LE(1, 10)
  end.writeUInt32LE(list.length + name.length, 12)
  end.writeUInt32LE(localBytes + name.length + sums.packed + after.length, 16)
  return Buffer.concat([after, list, name, end])
}
