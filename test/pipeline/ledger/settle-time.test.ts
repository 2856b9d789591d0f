import { expect, test } from 'vitest'
import { HOUR, MINUTE } from '../../../src/base/time/units.ts'
import { LATENESS_BINS, latenessBin, latenessOfBin } from '../../../src/pipeline/ledger/lateness.ts'
import {
  boundedSettleMs,
  type LatenessBinCount,
  settleMsOf,
  settleTimeOf,
} from '../../../src/pipeline/ledger/settle-time.ts'

const fallbackMs = 72 * HOUR
const settings = { minMs: 6 * HOUR, maxMs: 240 * HOUR, intervalsMs: [] }

/** Records watched up to an age, and the number of them that changed at these ages. */
function counted(
  seen: number,
  upToMs: number,
  changesByMs: ReadonlyArray<readonly [number, number]>,
): LatenessBinCount[] {
  return Array.from({ length: LATENESS_BINS }, (_, bin) => ({
    bin,
    seen: bin <= latenessBin(upToMs) ? seen : 0,
    changes: changesByMs.reduce((sum, [ms, n]) => (latenessBin(ms) === bin ? sum + n : sum), 0),
  }))
}
const settled = (counts: LatenessBinCount[], days = 30) => settleTimeOf({ counts, days, fallbackMs, settings })

test('the fallback holds until enough records were watched over enough days', () => {
  const counts = counted(1_000_000, fallbackMs, [[HOUR, 100]])

  expect(settled([])).toMatchObject({ settleMs: fallbackMs, basis: 'fallback' })
  expect(settled(counts, 13)).toMatchObject({ settleMs: fallbackMs, basis: 'fallback' })
  expect(settled(counted(9_999, fallbackMs, []))).toMatchObject({ settleMs: fallbackMs, basis: 'fallback' })
  expect(settled(counted(1_000_000, 70 * HOUR * 0.8, []))).toMatchObject({ settleMs: fallbackMs, basis: 'fallback' })
  expect(settled(counts, 14).basis).toBe('measured')
})

test('of many records at most one in ten thousand changed after the settle time', () => {
  const counts = counted(1_000_000, fallbackMs, [
    [HOUR, 500_000],
    [20 * HOUR, 1000],
    [30 * HOUR, 60],
    [50 * HOUR, 10],
  ])

  const { settleMs, basis, watched, changedLater } = settled(counts)

  expect({ basis, watched, changedLater }).toEqual({ basis: 'measured', watched: 1_000_000, changedLater: 70 })
  expect(settleMs).toBe(latenessOfBin(latenessBin(20 * HOUR)))
})

test('of few records one in a thousand is measured, and the tail is taken to go on as it came', () => {
  const counts = counted(20_000, fallbackMs, [
    [5 * MINUTE, 15_000],
    [HOUR, 250],
    [4 * HOUR, 100],
    [8 * HOUR, 5],
  ])

  const { settleMs, basis } = settled(counts)

  expect(basis).toBe('extrapolated')
  expect(settleMs / HOUR).toBeGreaterThan(8)
  expect(settleMs / HOUR).toBeLessThan(40)
})

test('an upstream that is still late at the end of what was watched is read longer, within bounds', () => {
  const counts = counted(100_000, fallbackMs, [[70 * HOUR, 5000]])
  expect(settled(counts)).toMatchObject({ basis: 'longer' })
  expect(settled(counts).settleMs / HOUR).toBeGreaterThan(2 * 60)

  const longer = counted(100_000, 200 * HOUR, [[190 * HOUR, 5000]])
  expect(settled(longer).settleMs).toBe(240 * HOUR)
})

test('changes found later than anything that was watched, such as silent differences, make it longer', () => {
  const counts = counted(1_000_000, fallbackMs, [[HOUR, 500]])
  const late = counted(1_000_000, fallbackMs, [
    [HOUR, 500],
    [1000 * HOUR, 3000],
  ])

  expect(settled(counts).basis).toBe('measured')
  expect(settled(late).basis).toBe('longer')
})

test('the settings bound it, and what settles at once does so within all bounds', () => {
  expect(settled(counted(1_000_000, fallbackMs, [[MINUTE, 1000]])).settleMs).toBe(settings.minMs)
  expect(boundedSettleMs(0, settings)).toBe(0)
  expect(settleMsOf('1', 5, { fallbackMs: 0, settings })).toBe(0)
})

test('one profile of sixteen is always read as long as before anything was measured', () => {
  const fallback = { fallbackMs, settings }

  expect(settleMsOf('15', 10 * HOUR, fallback)).toBe(10 * HOUR)
  expect(settleMsOf('16', 10 * HOUR, fallback)).toBe(fallbackMs)
  expect(settleMsOf('16', 100 * HOUR, fallback)).toBe(100 * HOUR)
  expect(settleMsOf('15', null, fallback)).toBe(fallbackMs)
})
