const HASH_MIN = -(2 ** 31)

/**
 * The number of a profile's range, where the hashes of all ids are cut into `count` ranges: as Citus does it for the shards of a
 * table, evenly, and the last range takes what is left over. The parts of the queue are the same ranges. Pure.
 */
export function hashRangeOf(profileId: string, count: number): number {
  const width = Math.floor(2 ** 32 / count)
  return count === 1 ? 0 : Math.min(Math.floor((hashBigint(profileId) - HASH_MIN) / width), count - 1)
}

/** The `hashint8` of Postgres: a signed 32-bit hash of a bigint. */
export function hashBigint(text: string): number {
  const value = BigInt(text)
  const high = Number(BigInt.asIntN(32, value >> 32n))
  const folded = Number(BigInt.asIntN(32, value)) ^ (value < 0n ? ~high : high)
  return hash32(folded)
}

const rotated = (word: number, bits: number) => (word << bits) | (word >>> (32 - bits))

/** The last rounds of Bob Jenkins' lookup3, as Postgres hashes one 32-bit word. */
function hash32(word: number): number {
  const start = (0x9e3779b9 + 4 + 3923095) | 0
  let a = (start + word) | 0
  let b = start
  let c = start
  c = ((c ^ b) - rotated(b, 14)) | 0
  a = ((a ^ c) - rotated(c, 11)) | 0
  b = ((b ^ a) - rotated(a, 25)) | 0
  c = ((c ^ b) - rotated(b, 16)) | 0
  a = ((a ^ c) - rotated(c, 4)) | 0
  b = ((b ^ a) - rotated(a, 14)) | 0
  return ((c ^ b) - rotated(b, 24)) | 0
}
