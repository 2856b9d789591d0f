import { SECOND } from '../../base/time/units.ts'

/**
 * The division of the profiles into buckets by a hash of their id. It is the hash and the division of Citus, so that a bucket is
 * a shard of the warehouse and a part of the queue at once. Pure.
 */

export type ProfileBuckets = {
  readonly count: number
  of(profileId: string): number
  hashesOf(bucket: number): BucketHashes
  /** The items of each bucket together, each in their former order. No bucket is empty. */
  split<T>(items: readonly T[], profileIdOf: (item: T) => string): T[][]
}

/** The hashes of the ids in a bucket, both ends included. They mean the same profiles whatever the number of buckets. */
export type BucketHashes = { readonly firstHash: number; readonly lastHash: number }

/** How long a producer keeps a bucket after its last renewal; then another process may take it. */
export const PRODUCING_LEASE_MS = 30 * SECOND
export const PRODUCING_LEASE_RENEWED_MS = PRODUCING_LEASE_MS / 3

const HASH_MIN = -(2 ** 31)
const HASH_MAX = 2 ** 31 - 1

/** The one bucket of a warehouse that is not divided. */
export const everybody: BucketHashes = { firstHash: HASH_MIN, lastHash: HASH_MAX }

export const isEverybody = ({ firstHash, lastHash }: BucketHashes): boolean =>
  firstHash === HASH_MIN && lastHash === HASH_MAX

/** As in Citus: the range of a 32-bit hash is cut evenly, and the last bucket takes what is left over. */
export function createProfileBuckets(count: number): ProfileBuckets {
  const width = Math.floor(2 ** 32 / count)
  const of = (profileId: string) =>
    count === 1 ? 0 : Math.min(Math.floor((hashBigint(profileId) - HASH_MIN) / width), count - 1)
  return {
    count,
    of,
    hashesOf: (bucket) => ({
      firstHash: HASH_MIN + bucket * width,
      lastHash: bucket === count - 1 ? HASH_MAX : HASH_MIN + (bucket + 1) * width - 1,
    }),
    split(items, profileIdOf) {
      if (items.length === 0) return []
      if (count === 1 || items.length === 1) return [[...items]]
      return [...Map.groupBy(items, (item) => of(profileIdOf(item))).values()]
    },
  }
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
