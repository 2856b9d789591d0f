import { expect, test } from 'vitest'
import { gapsOf, type Known } from '../../src/gaps.ts'
import { DAY, HOUR } from '../../src/window.ts'

const now = Date.UTC(2026, 6, 11)
const ago = (days: number) => now - days * DAY
const nothing: Known = {
  wanted: { from: ago(60), to: now },
  covered: [],
  digesting: [],
  digestedAtMs: null,
  refused: [],
  readAtMs: null,
  settleMs: 3 * DAY,
}
const told = (known: Partial<Known>) =>
  gapsOf({ ...nothing, ...known }).map(({ from, to, reason }) => [(now - from) / DAY, (now - to) / DAY, reason])

test('what was never read was never asked for', () => {
  expect(told({})).toEqual([[60, 0, 'never-asked']])
})

test('what is covered is no gap, and the tail of a reading has not settled', () => {
  expect(told({ covered: [{ from: ago(60), to: ago(3) }], readAtMs: now })).toEqual([[3, 0, 'unsettled']])
})

test('a hole in the middle is never called unsettled', () => {
  const covered = [
    { from: ago(60), to: ago(40) },
    { from: ago(30), to: ago(3) },
  ]

  expect(told({ covered, readAtMs: now })).toEqual([
    [40, 30, 'never-asked'],
    [3, 0, 'unsettled'],
  ])
})

test('each span has one reason, the refused before the waiting before the unsettled', () => {
  const refused = [{ from: ago(12), to: ago(1), reason: 'status 400', nextTryMs: now + HOUR }]
  const digesting = [{ from: ago(20), to: ago(10) }]
  const gaps = gapsOf({ ...nothing, refused, digesting, digestedAtMs: now + HOUR, readAtMs: now })

  expect(gaps.map(({ from, to, reason, detail }) => [(now - from) / DAY, (now - to) / DAY, reason, detail])).toEqual([
    [60, 20, 'never-asked', null],
    [20, 12, 'waiting', null],
    [12, 1, 'refused', 'status 400'],
    [1, 0, 'unsettled', null],
  ])
  expect(gaps.map(({ nextTryMs }) => nextTryMs)).toEqual([null, now + HOUR, now + HOUR, null])
})
