import fc from 'fast-check'
import { expect, test } from 'vitest'
import { HOUR } from '../../../src/base/time/units.ts'
import { LATENESS_BINS, latenessBin, latenessOfBin } from '../../../src/pipeline/ledger/lateness.ts'
import {
  boundedSettleMs,
  DAYS_ENOUGH,
  type LatenessBinCount,
  RECORDS_ENOUGH,
  settleMsOf,
  settleTimeOf,
} from '../../../src/pipeline/ledger/settle-time.ts'

const fallbackMs = 6 * HOUR
const unbounded = { minMs: 0, maxMs: Number.POSITIVE_INFINITY, intervalsMs: [] }
const settled = (counts: readonly LatenessBinCount[], days = DAYS_ENOUGH) =>
  settleTimeOf({ counts, days, fallbackMs, settings: unbounded })

/** The bins up to `last` were watched by enough records each, the bins beyond by too few. */
const counted = fc
  .record({
    last: fc.integer({ min: latenessBin(fallbackMs) - 2, max: LATENESS_BINS - 1 }),
    seen: fc.array(fc.integer({ min: RECORDS_ENOUGH, max: 3_000_000 }), {
      minLength: LATENESS_BINS,
      maxLength: LATENESS_BINS,
    }),
    changes: fc.array(fc.oneof(fc.constant(0), fc.nat(3), fc.nat(300)), {
      minLength: LATENESS_BINS,
      maxLength: LATENESS_BINS,
    }),
    quietFrom: fc.nat(LATENESS_BINS),
    beyond: fc.oneof(fc.constant(0), fc.constant(0), fc.nat(20)),
  })
  .map(({ last, seen, changes, quietFrom, beyond }): LatenessBinCount[] =>
    seen.map((records, bin) => ({
      bin,
      seen: bin <= last ? records : RECORDS_ENOUGH - 1,
      changes: bin > last ? (bin === last + 1 ? beyond : 0) : bin < quietFrom ? (changes[bin] ?? 0) : 0,
    })),
  )

/** The share that changed after each age, at the upper end of its interval, summed up bin by bin as the comments define it. */
function shareAfter(age: number, last: number, counts: readonly LatenessBinCount[]): number {
  const later = counts.filter(({ bin }) => bin > age && bin <= last)
  const beyond = counts.filter(({ bin }) => bin > last).reduce((sum, { changes }) => sum + changes, 0)
  const watched = Math.min(
    ...counts.filter(({ bin }) => bin > age && bin <= last).map(({ seen }) => seen),
    seenAt(last, counts),
  )
  const rate = later.reduce((sum, { changes, seen }) => sum + changes / seen, beyond / watched)
  const variance = later.reduce((sum, { changes, seen }) => sum + changes / seen ** 2, beyond / watched ** 2)
  return rate + 1.96 * Math.sqrt(variance) + 3 / watched
}

const seenAt = (wanted: number, counts: readonly LatenessBinCount[]) =>
  counts.find(({ bin }) => bin === wanted)?.seen ?? 0

test('the settle time is the first age after which few enough records change, three bins before the end of what was watched', () => {
  fc.assert(
    fc.property(counted, (counts) => {
      const last = counts.findIndex(({ seen }) => seen < RECORDS_ENOUGH) - 1
      const lastBin = last < 0 ? LATENESS_BINS - 1 : last
      const ages = Array.from({ length: lastBin - 2 }, (_, age) => age)
      const first = (share: number) => ages.find((age) => shareAfter(age, lastBin, counts) <= share)
      const [aimed, measurable, tail] = [first(0.0001), first(0.001), first(0.01)]

      const { settleMs, basis } = settled(counts)

      if (lastBin < latenessBin(fallbackMs))
        expect({ settleMs, basis }).toEqual({ settleMs: fallbackMs, basis: 'fallback' })
      else if (aimed !== undefined)
        expect({ settleMs, basis }).toEqual({ settleMs: latenessOfBin(aimed), basis: 'measured' })
      else if (measurable === undefined)
        expect({ settleMs, basis }).toEqual({ settleMs: 2 * latenessOfBin(lastBin), basis: 'longer' })
      else {
        expect(basis).toBe('extrapolated')
        const tailMs = latenessOfBin(tail ?? 0)
        expect(settleMs).toBeCloseTo(latenessOfBin(measurable) * Math.max(2, latenessOfBin(measurable) / tailMs), 3)
      }
    }),
    { numRuns: 300 },
  )
})

/** How many records every bin up to an age was watched by, and how many of them changed in each of some bins. */
function watched(seen: number, last: number, changes: Readonly<Record<number, number>> = {}): LatenessBinCount[] {
  return Array.from({ length: LATENESS_BINS }, (_, bin) => ({
    bin,
    seen: bin <= last ? seen : 0,
    changes: changes[bin] ?? 0,
  }))
}

test('figures of the age that was chosen are given: the records watched there, and the changes after it', () => {
  expect(settled(watched(1_000_000, 50, { 10: 500, 20: 300, 30: 7, 55: 2 }))).toEqual({
    settleMs: latenessOfBin(20),
    basis: 'measured',
    watched: 1_000_000,
    changedLater: 9,
  })
  expect(settled(watched(20_000, 50, { 10: 5_000, 20: 100, 30: 2 }))).toMatchObject({
    basis: 'extrapolated',
    watched: 20_000,
    changedLater: 2,
  })
})

test('thirty thousand records without a change are just enough to aim at one in ten thousand, from the first minute on', () => {
  expect(settled(watched(30_000, 50))).toMatchObject({ settleMs: latenessOfBin(0), basis: 'measured', watched: 30_000 })
  expect(settled(watched(29_999, 50)).basis).toBe('extrapolated')
})

test('the figures of the fallback and of a longer time are those at the end of what was watched', () => {
  const seen = watched(20_000, 50, { 49: 900, 50: 30, 52: 4 })

  expect(settled(seen, DAYS_ENOUGH - 1)).toMatchObject({ basis: 'fallback', watched: 20_000, changedLater: 4 })
  expect(settled(seen)).toMatchObject({ basis: 'longer', watched: 20_000, changedLater: 4 })
  expect(settled([])).toEqual({ settleMs: fallbackMs, basis: 'fallback', watched: 0, changedLater: 0 })
})

test('the end of what was watched is where the first bin lacks records, and the order of the counts does not matter', () => {
  const hole = watched(20_000, 60).map((count) => (count.bin === 40 ? { ...count, seen: RECORDS_ENOUGH - 1 } : count))

  expect(settled(hole).basis).toBe('extrapolated')
  expect(settled(hole.filter(({ bin }) => bin !== 40).toReversed())).toEqual(
    settled(hole.filter(({ bin }) => bin !== 40)),
  )
  const without = (bin: number) =>
    watched(20_000, 60).map((count) => (count.bin === bin ? { ...count, seen: 0 } : count))
  expect([0, 1, 2, 20].map((bin) => settled(without(bin)).basis)).toEqual(new Array(4).fill('fallback'))
  expect(settled(watched(RECORDS_ENOUGH, latenessBin(fallbackMs))).basis).not.toBe('fallback')
  expect(settled(watched(RECORDS_ENOUGH, latenessBin(fallbackMs) - 1)).basis).toBe('fallback')
})

test.for<readonly [number, number]>([
  [0, 0],
  [1, 10],
  [9, 10],
  [10, 10],
  [55, 55],
  [100, 100],
  [101, 100],
])('a settle time of %i within 10 and 100 is %i', ([wanted, bounded]) => {
  expect(boundedSettleMs(wanted, { minMs: 10, maxMs: 100, intervalsMs: [] })).toBe(bounded)
})

test('one profile of sixteen is read by the longer of what was measured and what held before', () => {
  const settings = { ...unbounded, minMs: 5, maxMs: 1_000 }
  const by = (profileId: string, measuredMs: number | null, ms = 100) =>
    settleMsOf(profileId, measuredMs, { fallbackMs: ms, settings })

  expect([by('32', null), by('32', 50), by('32', 150), by('32', 5_000)]).toEqual([100, 100, 150, 1_000])
  expect([by('33', null), by('33', 50), by('33', 150), by('33', 1)]).toEqual([100, 50, 150, 5])
  expect([by('32', 50, 0), by('33', 50, 0), by('33', null, 0)]).toEqual([0, 0, 0])
  const controls = Array.from({ length: 160 }, (_, id) => String(id)).filter((id) => by(id, 50) === 100)
  expect(controls).toHaveLength(10)
})
