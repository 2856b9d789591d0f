import fc from 'fast-check'
import { expect, test } from 'vitest'
import { intersect, type Span, subtract, union } from '../../../src/base/time/spans.ts'
import { DAY, HOUR } from '../../../src/base/time/units.ts'
import { dueWindows } from '../../../src/pipeline/ledger/planner.ts'

const at = (text: string) => Date.parse(text)
const span = (from: string, to: string): Span => ({ startMs: at(from), endMs: at(to) })
const none = { covered: [], blocked: [], windowsMax: 1000 }

const instant = fc.integer({ min: 0, max: 400 }).map((hours) => at('2026-02-20T00:00:00Z') + hours * HOUR)
const anySpan = fc
  .tuple(instant, fc.integer({ min: 1, max: 200 }))
  .map(([from, hours]): Span => ({ startMs: from, endMs: from + hours * HOUR }))

test('the due spans are the wanted spans less the covered and the blocked ones', () => {
  fc.assert(
    fc.property(
      anySpan,
      fc.array(anySpan, { maxLength: 5 }),
      fc.array(anySpan, { maxLength: 3 }),
      fc.integer({ min: 1, max: 80 }),
      (wanted, covered, blocked, hours) => {
        const due = dueWindows({ wanted, covered, blocked, sizeMs: hours * HOUR, windowsMax: 10_000 })
        expect(union(due)).toEqual(subtract(subtract([wanted], union(covered)), union(blocked)))
        for (const [index, window] of due.entries()) {
          expect(window.endMs - window.startMs).toBeLessThanOrEqual(hours * HOUR)
          const others = due.filter((_, other) => other !== index)
          expect(intersect([window], union(others))).toEqual([])
        }
      },
    ),
  )
})

test('the newest due windows are planned first', () => {
  fc.assert(
    fc.property(anySpan, fc.array(anySpan, { maxLength: 5 }), (wanted, covered) => {
      const due = dueWindows({ ...none, wanted, covered, sizeMs: DAY })
      expect(due).toEqual([...due].sort((a, b) => b.startMs - a.startMs))
    }),
  )
})

test('a bound on the windows leaves out the oldest', () => {
  const wanted = span('2026-03-01T00:00:00Z', '2026-03-11T00:00:00Z')

  const due = dueWindows({ ...none, wanted, sizeMs: DAY, windowsMax: 2 })

  expect(due).toEqual([
    span('2026-03-10T00:00:00Z', '2026-03-11T00:00:00Z'),
    span('2026-03-09T00:00:00Z', '2026-03-10T00:00:00Z'),
  ])
})

test('the newest window holds the open day, and the boundaries lie at midnights', () => {
  const wanted = span('2026-03-01T06:00:00Z', '2026-03-05T15:30:00Z')

  const due = dueWindows({ ...none, wanted, sizeMs: 2 * DAY })

  expect(due).toEqual([
    span('2026-03-04T00:00:00Z', '2026-03-05T15:30:00Z'),
    span('2026-03-02T00:00:00Z', '2026-03-04T00:00:00Z'),
    span('2026-03-01T06:00:00Z', '2026-03-02T00:00:00Z'),
  ])
})

test('a leap day is a day like any other', () => {
  const wanted = span('2028-02-28T00:00:00Z', '2028-03-02T00:00:00Z')

  const due = dueWindows({ ...none, wanted, sizeMs: DAY })

  expect(due.map(({ startMs }) => new Date(startMs).toISOString().slice(0, 10))).toEqual([
    '2028-03-01',
    '2028-02-29',
    '2028-02-28',
  ])
})

test('windows shorter than a day are cut as they come', () => {
  const wanted = span('2026-03-01T01:00:00Z', '2026-03-01T05:00:00Z')

  expect(dueWindows({ ...none, wanted, sizeMs: 3 * HOUR })).toEqual([
    span('2026-03-01T02:00:00Z', '2026-03-01T05:00:00Z'),
    span('2026-03-01T01:00:00Z', '2026-03-01T02:00:00Z'),
  ])
})

test('nothing is due where all is covered, and nothing where "now" is the start', () => {
  const day = span('2026-03-01T00:00:00Z', '2026-03-02T00:00:00Z')

  expect(dueWindows({ ...none, wanted: day, covered: [day], sizeMs: DAY })).toEqual([])
  expect(dueWindows({ ...none, wanted: { startMs: day.startMs, endMs: day.startMs }, sizeMs: DAY })).toEqual([])
})
