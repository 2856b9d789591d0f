import { createHash } from 'node:crypto'

/** The UUID (version 5) that belongs to these parts within a namespace: the same parts give the same id, always. */
export function namedUuid(namespace: string, parts: readonly string[]): string {
  const hash = createHash('sha1')
  hash.update(Buffer.from(namespace.replaceAll('-', ''), 'hex'))
  hash.update(JSON.stringify(parts))
  const bytes = hash.digest().subarray(0, 16)
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
