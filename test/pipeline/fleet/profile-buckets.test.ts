import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  createProfileBuckets,
  everybody,
  hashBigint,
  isEverybody,
} from '../../../src/pipeline/fleet/profile-buckets.ts'

const seed = 20261124
const anyId = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String)
const anyCount = fc.integer({ min: 1, max: 1024 })

/** As `hashint8` of Postgres 18.4 answers. `hashes-of-postgres.test.ts` asks a Postgres about a million ids. */
test.for([
  ['0', -272_711_505],
  ['1', -1_905_060_026],
  ['2', 1_134_484_726],
  ['7', -978_793_473],
  ['42', 1_509_752_520],
  ['1000', -840_720_108],
  ['65536', 32_085_720],
  ['2147483647', -96_758_253],
  ['2147483648', -1_524_351_049],
  ['4294967295', 385_747_274],
  ['4294967296', -1_905_060_026],
  ['12345678901234', -336_417_066],
  ['9223372036854775807', -1_524_351_049],
  ['-1', 385_747_274],
  ['-2', -1_242_090_879],
  ['-2147483648', -1_524_351_049],
  ['-4294967296', -272_711_505],
  ['-12345678901234', 359_584_814],
  ['-9223372036854775808', -96_758_253],
] as const)('the hash of %s is %i', ([id, hash]) => {
  expect(hashBigint(id)).toBe(hash)
})

test('a hash is a whole number of 32 bits', () => {
  fc.assert(
    fc.property(anyId, (id) => {
      expect(hashBigint(id)).toBe(hashBigint(id) | 0)
    }),
    { seed },
  )
})

test('the hashes of the buckets follow one another from the least to the greatest', () => {
  fc.assert(
    fc.property(anyCount, (count) => {
      const { hashesOf } = createProfileBuckets(count)
      expect(hashesOf(0).firstHash).toBe(-2_147_483_648)
      expect(hashesOf(count - 1).lastHash).toBe(2_147_483_647)
      for (let bucket = 1; bucket < count; bucket += 1)
        expect(hashesOf(bucket).firstHash).toBe(hashesOf(bucket - 1).lastHash + 1)
      const widths = Array.from(
        { length: count - 1 },
        (_, bucket) => hashesOf(bucket).lastHash - hashesOf(bucket).firstHash,
      )
      expect(new Set(widths).size).toBeLessThanOrEqual(1)
    }),
    { seed, numRuns: 50 },
  )
})

test('a profile lies in the bucket that holds its hash, whatever the number of buckets', () => {
  fc.assert(
    fc.property(anyId, anyCount, (id, count) => {
      const buckets = createProfileBuckets(count)
      const { firstHash, lastHash } = buckets.hashesOf(buckets.of(id))
      expect(buckets.count).toBe(count)
      expect(hashBigint(id)).toBeGreaterThanOrEqual(firstHash)
      expect(hashBigint(id)).toBeLessThanOrEqual(lastHash)
    }),
    { seed, numRuns: 2000 },
  )
})

test('the last bucket takes what an even cut leaves over', () => {
  const { hashesOf } = createProfileBuckets(3)

  expect([0, 1, 2].map(hashesOf)).toEqual([
    { firstHash: -2_147_483_648, lastHash: -715_827_884 },
    { firstHash: -715_827_883, lastHash: 715_827_881 },
    { firstHash: 715_827_882, lastHash: 2_147_483_647 },
  ])
  // 997 equal parts leave 966 hashes over, and this id has one of them.
  expect(hashBigint('5641343')).toBe(2_147_482_765)
  expect(createProfileBuckets(997).of('5641343')).toBe(996)
})

test('the bucket of everybody is the one of an undivided warehouse, and no other', () => {
  expect(everybody).toEqual(createProfileBuckets(1).hashesOf(0))
  expect(isEverybody(createProfileBuckets(1).hashesOf(0))).toBe(true)
  expect(isEverybody(createProfileBuckets(2).hashesOf(0))).toBe(false)
  expect(isEverybody(createProfileBuckets(2).hashesOf(1))).toBe(false)
})

test('items are split by bucket: each once, in their former order, and no bucket is empty', () => {
  const ids = fc.array(fc.integer({ min: 1, max: 400 }), { maxLength: 60 })
  fc.assert(
    fc.property(ids, fc.integer({ min: 1, max: 16 }), (drawn, count) => {
      const items = drawn.map((id, index) => ({ profileId: String(id), index }))
      const buckets = createProfileBuckets(count)
      const parts = buckets.split(items, ({ profileId }) => profileId)
      expect(parts.flat().toSorted((a, b) => a.index - b.index)).toEqual(items)
      for (const part of parts) {
        expect(part.length).toBeGreaterThan(0)
        expect(new Set(part.map(({ profileId }) => buckets.of(profileId))).size).toBe(1)
        expect(part).toEqual(part.toSorted((a, b) => a.index - b.index))
      }
      expect(parts).toHaveLength(new Set(items.map(({ profileId }) => buckets.of(profileId))).size)
    }),
    { seed, numRuns: 300 },
  )
})

test('with one bucket no id is looked at, and the result is not the given list itself', () => {
  const unread = () => expect.unreachable()
  const [one, several] = [[1], [1, 2, 3]]

  expect(createProfileBuckets(4).split([], unread)).toEqual([])
  expect(createProfileBuckets(1).split([], unread)).toEqual([])
  expect(createProfileBuckets(4).split(one, unread)).toEqual([[1]])
  expect(createProfileBuckets(1).split(several, unread)).toEqual([[1, 2, 3]])
  expect(createProfileBuckets(1).split(several, unread)[0]).not.toBe(several)
  expect(createProfileBuckets(1).of('not even a number')).toBe(0)
})
