import { expect, test } from 'vitest'
import { DAY, HOUR, MINUTE } from '../../../src/base/time/units.ts'
import {
  countLateness,
  LATENESS_BINS,
  type LatenessContext,
  latenessBin,
  latenessOfBin,
  noLatenessCounts,
  watchedBins,
} from '../../../src/pipeline/ledger/lateness.ts'

const dayEnd = 1_000 * DAY
const night: LatenessContext = {
  sentAtMs: dayEnd + 27 * HOUR,
  formerAtMs: dayEnd + 3 * HOUR,
  settleMs: 72 * HOUR,
  covered: [],
  awaiting: [],
}

test('a bin holds what is later than the bin before it, and its own latest', () => {
  for (let bin = 1; bin < LATENESS_BINS - 1; bin += 1) {
    expect(latenessBin(latenessOfBin(bin) - 1)).toBe(bin)
    expect(latenessBin(latenessOfBin(bin) + 1)).toBe(bin + 1)
  }
  expect(latenessBin(-1)).toBe(0)
  expect(latenessBin(1000 * DAY)).toBe(LATENESS_BINS - 1)
})

test('between two readings a record was watched, and the age of the second one is what counts', () => {
  expect(watchedBins(dayEnd, night)).toEqual({
    fromBin: latenessBin(3 * HOUR),
    toBin: latenessBin(27 * HOUR),
    isSilent: false,
  })
})

test('the first reading after the end of a day watched all the time since', () => {
  const context = { ...night, sentAtMs: dayEnd + 3 * HOUR, formerAtMs: dayEnd - 21 * HOUR }

  expect(watchedBins(dayEnd, context)).toEqual({ fromBin: -1, toBin: latenessBin(3 * HOUR), isSilent: false })
})

test('spans that have not ended, were not read before, or were last read long ago are not counted', () => {
  expect(watchedBins(dayEnd + 28 * HOUR, night)).toBeUndefined()
  expect(watchedBins(dayEnd - 80 * HOUR, night)).toBeUndefined()
  expect(watchedBins(dayEnd, { ...night, formerAtMs: dayEnd - 9 * HOUR, sentAtMs: dayEnd + 31 * HOUR })).toBeUndefined()
  expect(watchedBins(dayEnd, { ...night, sentAtMs: night.formerAtMs + 31 * HOUR })).toBeUndefined()
})

test('after a push the push is the cause', () => {
  const part = {
    startMs: dayEnd - DAY,
    endMs: dayEnd + 1,
    touchedAtMs: dayEnd + 20 * HOUR,
    readAtMs: null,
    readings: 0,
  }
  const after = (readAtMs: number | null, sinceMs: number) =>
    watchedBins(dayEnd, {
      ...night,
      sentAtMs: part.touchedAtMs + sinceMs,
      awaiting: [{ ...part, readAtMs }],
    })

  expect(after(null, MINUTE)).toEqual({ fromBin: -1, toBin: 0, isSilent: false })
  expect(after(part.touchedAtMs + MINUTE, HOUR)).toEqual({ fromBin: 0, toBin: latenessBin(HOUR), isSilent: false })
})

test('a change of a covered day, or of a suspect one, is silent', () => {
  const covered = [{ startMs: dayEnd - 9 * DAY, endMs: dayEnd + 1 }]
  const suspect = {
    ...covered[0],
    touchedAtMs: dayEnd + 26 * HOUR,
    readAtMs: null,
    readings: 0,
    isSuspect: true as const,
  }
  const silent = { toBin: latenessBin(27 * HOUR), isSilent: true }

  expect(watchedBins(dayEnd, { ...night, covered })).toMatchObject(silent)
  expect(watchedBins(dayEnd, { ...night, awaiting: [{ startMs: 0, endMs: dayEnd + 1, ...suspect }] })).toMatchObject(
    silent,
  )
})

test('counts hold the watched records of every bin, and the changed records of the last one', () => {
  const counts = noLatenessCounts()
  const covered = [{ startMs: dayEnd - 40 * DAY, endMs: dayEnd - 20 * DAY }]
  const old = dayEnd - 30 * DAY

  const silent = countLateness(
    counts,
    { seen: [dayEnd, dayEnd, old], came: [dayEnd], changed: [old] },
    { ...night, covered },
  )

  expect(silent).toEqual([old])
  const [from, to] = [latenessBin(3 * HOUR), latenessBin(27 * HOUR)]
  expect(counts.seen.slice(from, to + 2)).toEqual([0, ...new Array(to - from).fill(2), 0])
  expect(counts.came[to]).toBe(1)
  expect(counts.changed[latenessBin(30 * DAY + 27 * HOUR)]).toBe(1)
})

test('a record that first came when its day was covered is as silent as one that changed then', () => {
  const covered = [{ startMs: dayEnd - 40 * DAY, endMs: dayEnd - 20 * DAY }]
  const old = dayEnd - 30 * DAY

  const ends = { seen: [dayEnd, old], came: [dayEnd, old], changed: [] }
  expect(countLateness(noLatenessCounts(), ends, { ...night, covered })).toEqual([old])
})
