import { expect, test } from 'vitest'
import type { Span } from '../../../src/base/time/spans.ts'
import { DAY, HOUR } from '../../../src/base/time/units.ts'
import { dueWindows } from '../../../src/pipeline/ledger/planner.ts'

const day = (from: number, to: number): Span => ({ startMs: from * DAY, endMs: to * DAY })
const plan = (more: Partial<Parameters<typeof dueWindows>[0]>) =>
  dueWindows({ wanted: day(0, 100), covered: [], blocked: [], sizeMs: 35 * DAY, windowsMax: 500, ...more })
const tagged = (...windows: Span[]) => ({ windows, aheadMs: 0 })
const nightly = (...windows: Span[]) => ({ windows, aheadMs: 4 * DAY })

test('windows of a range that was read before are asked for as they were', () => {
  const before = plan({})

  expect(plan({ tagged: tagged(...before) })).toEqual(before)
  expect(plan({ tagged: tagged(day(20, 50)) })).toEqual([day(65, 100), day(50, 65), day(20, 50), day(0, 20)])
})

test('a window that is mostly covered is not asked for again', () => {
  const covered = [day(0, 90)]

  expect(plan({ covered, tagged: tagged(day(65, 100)) })).toEqual([day(90, 100)])
  expect(plan({ covered, tagged: tagged(day(82, 100)) })).toEqual([day(82, 100)])
  expect(plan({ covered, tagged: tagged(day(81, 100)) })).toEqual([day(90, 100)])
})

test('a new newest window goes from midnight to some days ahead, and serves until it ends too early', () => {
  const covered = [{ startMs: 0, endMs: 95 * DAY + HOUR }]
  const wanted = { startMs: 0, endMs: 100 * DAY + 2 * HOUR }
  const [window = day(0, 0), ...others] = plan({ wanted, covered, tagged: nightly() })
  expect([window, ...others]).toEqual([day(95, 105)])

  for (const later of [1, 2, 3, 4]) {
    const shifted = (span: Span) => ({ startMs: span.startMs, endMs: span.endMs + later * DAY })
    const next = plan({ wanted: shifted(wanted), covered: covered.map(shifted), tagged: nightly(window) })
    expect(next, `${later} days later`).toEqual([window])
  }
  const shifted = (span: Span) => ({ startMs: span.startMs, endMs: span.endMs + 5 * DAY })
  expect(plan({ wanted: shifted(wanted), covered: covered.map(shifted), tagged: nightly(window) })).toEqual([
    day(100, 110),
  ])
})

test('a blocked span is not asked for by a window with a tag either', () => {
  const blocked = [day(97, 98)]

  expect(plan({ covered: [day(0, 95)], blocked, tagged: nightly(day(95, 101)) })).toEqual([day(98, 104), day(95, 97)])
  const open = [{ startMs: 98 * DAY, endMs: Number.POSITIVE_INFINITY }]
  expect(plan({ covered: [day(0, 95)], blocked: open, tagged: nightly() })).toEqual([day(95, 98)])
})

test('windows that overlap are not both asked for, and upstreams without tags are asked as ever', () => {
  expect(plan({ tagged: tagged(day(70, 100), day(60, 90), day(40, 70)) })).toEqual([
    day(70, 100),
    day(40, 70),
    day(5, 40),
    day(0, 5),
  ])
  expect(plan({ wanted: { startMs: HOUR, endMs: 3 * HOUR } })).toEqual([{ startMs: HOUR, endMs: 3 * HOUR }])
})

test('the newest window does not begin before the end of another window that is due', () => {
  const covered = [{ startMs: 2 * DAY + 18 * HOUR, endMs: 2 * DAY + 22 * HOUR }]

  const due = plan({ wanted: { startMs: 0, endMs: 3 * DAY + 9 * HOUR }, covered, tagged: nightly() })

  expect(due).toEqual([
    { startMs: 2 * DAY + 22 * HOUR, endMs: 8 * DAY },
    { startMs: 0, endMs: 2 * DAY + 18 * HOUR },
  ])
})

test('the newest window does not begin before the end of a window that is asked for as before', () => {
  const [from, before] = [96 * DAY, { startMs: 96 * DAY, endMs: 97 * DAY + 10 * HOUR }]
  const covered = [
    { startMs: 0, endMs: from + 8 * HOUR },
    { startMs: from + 20 * HOUR, endMs: before.endMs },
  ]

  const due = plan({ wanted: { startMs: 0, endMs: before.endMs + 2 * HOUR }, covered, tagged: nightly(before) })

  expect(due).toEqual([{ startMs: before.endMs, endMs: 102 * DAY }, before])
})
