import { expect, test } from 'vitest'
import { DAY, HOUR } from '../../../src/base/time/units.ts'
import { findGaps, type KnownCoverage } from '../../../src/pipeline/ledger/coverage-gaps.ts'

const now = Date.UTC(2026, 6, 11)
const ago = (days: number) => now - days * DAY
const nothing: KnownCoverage = {
  wanted: { startMs: ago(60), endMs: now },
  covered: [],
  awaiting: [],
  readAgainAtMs: null,
  settlesAtMs: null,
  refused: [],
  readAtMs: null,
  settleMs: 3 * DAY,
}
const gapsInDays = (known: Partial<KnownCoverage>) =>
  findGaps({ ...nothing, ...known }).map(({ startMs, endMs, reason }) => [
    (now - startMs) / DAY,
    (now - endMs) / DAY,
    reason,
  ])

test('a wanted span that was never read has the reason never-asked', () => {
  expect(gapsInDays({})).toEqual([[60, 0, 'never-asked']])
})

test('a covered span is no gap, and the tail of a reading is a gap that has not settled', () => {
  expect(gapsInDays({ covered: [{ startMs: ago(60), endMs: ago(3) }], readAtMs: now })).toEqual([[3, 0, 'unsettled']])
})

test('a request is sent up to an hour after its plan: the tail that it left begins an hour earlier', () => {
  const until = (endMs: number) => ({ covered: [{ startMs: ago(60), endMs }], readAtMs: now })
  const tailMs = 3 * DAY + HOUR

  expect(gapsInDays(until(now - tailMs))).toEqual([[tailMs / DAY, 0, 'unsettled']])
  expect(gapsInDays(until(now - tailMs - 1))).toEqual([
    [(tailMs + 1) / DAY, tailMs / DAY, 'never-asked'],
    [tailMs / DAY, 0, 'unsettled'],
  ])
})

test('a hole in the middle is never called unsettled', () => {
  const covered = [
    { startMs: ago(60), endMs: ago(40) },
    { startMs: ago(30), endMs: ago(3) },
  ]

  expect(gapsInDays({ covered, readAtMs: now })).toEqual([
    [40, 30, 'never-asked'],
    [3, 0, 'unsettled'],
  ])
})

test('each span has one reason, the refused before the waiting before the unsettled', () => {
  const refused = [{ startMs: ago(12), endMs: ago(1), reason: 'status 400', nextTryAtMs: now + HOUR }]
  const awaiting = [{ startMs: ago(20), endMs: ago(10) }]
  const settlesAtMs = Date.parse('2026-01-31T06:10:59Z')
  const gaps = findGaps({ ...nothing, refused, awaiting, readAgainAtMs: now + HOUR, settlesAtMs, readAtMs: now })

  expect(
    gaps.map(({ startMs, endMs, reason, detail }) => [(now - startMs) / DAY, (now - endMs) / DAY, reason, detail]),
  ).toEqual([
    [60, 20, 'never-asked', null],
    [20, 12, 'waiting', 'settles from 2026-01-31 06:10 on, sooner if upstream says that it has derived'],
    [12, 1, 'refused', 'status 400'],
    [1, 0, 'unsettled', null],
  ])
  expect(gaps.map(({ nextTryAtMs }) => nextTryAtMs)).toEqual([null, now + HOUR, now + HOUR, null])
})
