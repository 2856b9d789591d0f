import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hashBigint, hashRangeOf } from '../../../src/pipeline/fleet/hash-ranges.ts'

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

test('a profile lies in the range that holds its hash, whatever the number of ranges', () => {
  fc.assert(
    fc.property(anyId, anyCount, (id, count) => {
      const range = hashRangeOf(id, count)
      const width = Math.floor(2 ** 32 / count)
      const firstHash = -(2 ** 31) + range * width
      const lastHash = range === count - 1 ? 2 ** 31 - 1 : firstHash + width - 1
      expect(range).toBeLessThan(count)
      expect(hashBigint(id)).toBeGreaterThanOrEqual(firstHash)
      expect(hashBigint(id)).toBeLessThanOrEqual(lastHash)
    }),
    { seed, numRuns: 2000 },
  )
})

test('the last range takes what an even cut leaves over', () => {
  // 997 equal ranges leave 966 hashes over, and this id has one of them.
  expect(hashBigint('5641343')).toBe(2_147_482_765)
  expect(hashRangeOf('5641343', 997)).toBe(996)
})

test('with one range no id is looked at', () => {
  expect(hashRangeOf('not even a number', 1)).toBe(0)
})
