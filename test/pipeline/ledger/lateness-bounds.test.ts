import { expect, test } from 'vitest'
import { DAY, HOUR, MINUTE } from '../../../src/base/time/units.ts'
import type { AwaitingPart } from '../../../src/pipeline/ledger/awaiting-upstream.ts'
import {
  countLateness,
  LATENESS_BINS,
  type LatenessContext,
  latenessBin,
  noLatenessCounts,
  similarDays,
  type WatchedBins,
  watchedBins,
} from '../../../src/pipeline/ledger/lateness.ts'

const endMs = 1_000 * DAY
const night: LatenessContext = {
  sentAtMs: endMs + 27 * HOUR,
  formerAtMs: endMs + 3 * HOUR,
  settleMs: 72 * HOUR,
  covered: [],
  awaiting: [],
}
const watched = (more: Partial<LatenessContext>, recordEndMs = endMs) => watchedBins(recordEndMs, { ...night, ...more })
const bins = (fromBin: number, toMs: number): WatchedBins => ({ fromBin, toBin: latenessBin(toMs), isSilent: false })
const silent = (ms: number): WatchedBins => ({ fromBin: latenessBin(ms) - 1, toBin: latenessBin(ms), isSilent: true })
const part = (startMs: number, partEndMs: number, more: Partial<AwaitingPart> = {}): AwaitingPart => ({
  startMs,
  endMs: partEndMs,
  touchedAtMs: endMs + 20 * HOUR,
  readAtMs: null,
  readings: 0,
  ...more,
})

test('a minute and less is the first bin, 64 days and more are among the last', () => {
  expect([-1, 0, MINUTE, MINUTE + 1, 2 * MINUTE, 2 * MINUTE + 1].map(latenessBin)).toEqual([0, 0, 0, 1, 4, 5])
  expect(latenessBin(Number.MAX_SAFE_INTEGER)).toBe(LATENESS_BINS - 1)
})

test('a record is watched if the reading before asked for its time: back to the settle time and the longest way of a plan', () => {
  const earliestMs = night.formerAtMs - night.settleMs - HOUR

  expect(watched({}, earliestMs)).toBeDefined()
  expect(watched({}, earliestMs - 1)).toBeUndefined()
})

test('a record that ends at the instant of the request has happened, one that ends later has not', () => {
  expect(watched({}, night.sentAtMs)).toEqual(bins(-1, 0))
  expect(watched({}, night.sentAtMs + 1)).toBeUndefined()
})

test('a pause of thirty hours between two readings still bounds a change, a longer one does not', () => {
  expect(watched({ sentAtMs: night.formerAtMs + 30 * HOUR })).toEqual(bins(latenessBin(3 * HOUR), 33 * HOUR))
  expect(watched({ sentAtMs: night.formerAtMs + 30 * HOUR + 1 })).toBeUndefined()
  expect(watched({ formerAtMs: endMs - 5 * DAY, sentAtMs: endMs + 30 * HOUR })).toEqual(bins(-1, 30 * HOUR))
  expect(watched({ formerAtMs: endMs - 5 * DAY, sentAtMs: endMs + 30 * HOUR + 1 })).toBeUndefined()
})

test('a record is watched from its end where the reading before was sent by then, and from that reading where it was later', () => {
  expect(watched({ formerAtMs: endMs - 1 })).toEqual(bins(-1, 27 * HOUR))
  expect(watched({ formerAtMs: endMs })).toEqual(bins(-1, 27 * HOUR))
  expect(watched({ formerAtMs: endMs + 1 })).toEqual(bins(0, 27 * HOUR))
})

test('a push is the cause of what ends in its part: from the start of the part, without its end', () => {
  const sentAtMs = endMs + 22 * HOUR
  const by = (awaiting: AwaitingPart) => watched({ sentAtMs, awaiting: [awaiting] })

  expect(by(part(endMs, endMs + 1))).toEqual(bins(-1, 2 * HOUR))
  expect(by(part(endMs - 1, endMs + DAY))).toEqual(bins(-1, 2 * HOUR))
  expect(by(part(endMs - DAY, endMs))).toEqual(bins(latenessBin(3 * HOUR), 22 * HOUR))
  expect(by(part(endMs + 1, endMs + DAY))).toEqual(bins(latenessBin(3 * HOUR), 22 * HOUR))
})

test('after a push a record is watched since the reading of its part, or since the push, whenever the stream was read', () => {
  const sentAtMs = endMs + 22 * HOUR
  const by = (more: Partial<AwaitingPart>) =>
    watched({ sentAtMs, formerAtMs: endMs - 90 * DAY, awaiting: [part(endMs, endMs + 1, more)] })

  expect(by({ readAtMs: null })).toEqual(bins(-1, 2 * HOUR))
  expect(by({ readAtMs: endMs + 21 * HOUR })).toEqual(bins(latenessBin(HOUR), 2 * HOUR))
  expect(by({ touchedAtMs: sentAtMs + 1 })).toBeUndefined()
  const now = endMs + 100 * DAY
  const pushed = part(endMs, endMs + 1, { touchedAtMs: now - 2 * HOUR })
  // No nightly asks for so old a day any more, and the push does.
  expect(watched({ sentAtMs: now, formerAtMs: now - HOUR, awaiting: [pushed] })).toEqual(bins(-1, 2 * HOUR))
})

test('a change of a covered or suspect day is silent, and counts at its whole age, however long the pause was', () => {
  const covered = [{ startMs: endMs - DAY, endMs: endMs + 1 }]
  const suspect = part(endMs, endMs + 1, { isSuspect: true })

  expect(watched({ covered })).toEqual(silent(27 * HOUR))
  expect(watched({ covered, sentAtMs: endMs + 90 * DAY })).toEqual(silent(90 * DAY))
  expect(watched({ awaiting: [suspect] })).toEqual(silent(27 * HOUR))
  expect(watched({ covered: [{ startMs: endMs - DAY, endMs }] })).toEqual(bins(latenessBin(3 * HOUR), 27 * HOUR))
})

test('each record counts in the bins over which it was watched, and a change in the last of them', () => {
  const counts = noLatenessCounts()
  const other = endMs - DAY
  const tooOld = endMs - 90 * DAY

  const silentEnds = countLateness(
    counts,
    { seen: [endMs, other, endMs, tooOld], came: [endMs, tooOld], changed: [other, other] },
    night,
  )

  const seenBy = (bin: number, ...ends: number[]) =>
    ends.filter((end) => bin > latenessBin(night.formerAtMs - end) && bin <= latenessBin(night.sentAtMs - end)).length
  expect(silentEnds).toEqual([])
  expect(counts.seen).toEqual(Array.from({ length: LATENESS_BINS }, (_, bin) => seenBy(bin, endMs, other, endMs)))
  expect(counts.came).toEqual(Array.from({ length: LATENESS_BINS }, (_, bin) => Number(bin === latenessBin(27 * HOUR))))
  expect(counts.changed).toEqual(
    Array.from({ length: LATENESS_BINS }, (_, bin) => 2 * Number(bin === latenessBin(51 * HOUR))),
  )
})

test('counts begin at nothing in every bin', () => {
  const none = new Array(LATENESS_BINS).fill(0)

  expect(noLatenessCounts()).toEqual({ seen: none, came: none, changed: none })
})

test('the week before and the week after a silent difference are as suspect as its day', () => {
  expect(similarDays([endMs, 0])).toEqual([
    { startMs: endMs - 7 * DAY, endMs: endMs + 7 * DAY },
    { startMs: -7 * DAY, endMs: 7 * DAY },
  ])
  expect(similarDays([])).toEqual([])
})
