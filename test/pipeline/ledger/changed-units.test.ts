import { expect, test } from 'vitest'
import { DAY } from '../../../src/base/time/units.ts'
import { judgeUnits, UNIT_READINGS, type UnitDoubt } from '../../../src/pipeline/ledger/changed-units.ts'

const span = (from: number, to: number) => ({ startMs: from * DAY, endMs: to * DAY })
const pounds = ['unit weight in lb, not kg']
const nothingAccepted = () => false

type Given = Partial<Parameters<typeof judgeUnits>[0]>
const judged = (
  given: Given,
  before: readonly UnitDoubt[] = [],
  isAccepted: (unit: string) => boolean = nothingAccepted,
) =>
  judgeUnits(
    { window: span(0, 10), unchanged: false, isOvertaken: false, isPartial: false, days: [], ...given },
    before,
    isAccepted,
  )

const day = { ...span(4, 5), units: pounds }
const doubt = (readings: number) => ({ ...day, readings })

test('a day settles after three further readings that held the same units, unchanged answers included', () => {
  let { doubts, suspicious } = judged({ days: [day] })
  for (let reading = 1; reading < UNIT_READINGS; reading += 1) {
    expect(suspicious).toEqual([expect.objectContaining(span(4, 5))])
    ;({ doubts, suspicious } = judged(reading % 2 === 0 ? { days: [day] } : { unchanged: true }, doubts))
  }
  expect(suspicious).toHaveLength(1)
  expect(judged({ days: [day] }, doubts)).toEqual({ doubts: [doubt(UNIT_READINGS + 1)], suspicious: [] })
  expect(judged({ days: [day] }, [doubt(UNIT_READINGS + 1)])).toEqual({
    doubts: [doubt(UNIT_READINGS + 1)],
    suspicious: [],
  })
})

test('a day in yet another unit is counted from the beginning, and one in its known unit is forgotten', () => {
  const stones = { ...day, units: ['unit weight in st, not kg'] }
  expect(judged({ days: [stones] }, [doubt(3)]).doubts).toEqual([{ ...stones, readings: 1 }])
  expect(judged({}, [doubt(3)])).toEqual({ doubts: [], suspicious: [] })
})

test('a reading beside the day, or one that a newer overlaps, changes nothing', () => {
  expect(judged({ window: span(6, 10) }, [doubt(2)])).toEqual({ doubts: [doubt(2)], suspicious: [] })
  expect(judged({ isOvertaken: true, days: [day] }, [])).toEqual({ doubts: [], suspicious: [] })
  expect(judged({ isOvertaken: true }, [doubt(2)])).toEqual({ doubts: [doubt(2)], suspicious: [doubt(2)] })
  // Only a part of the day lies in the window: its records need not.
  expect(judged({ window: { startMs: 4.5 * DAY, endMs: 10 * DAY } }, [doubt(2)]).doubts).toEqual([doubt(2)])
})

test('a reading of a part of the records raises suspicion, and neither confirms nor ends one', () => {
  const isPartial = true
  expect(judged({ isPartial, days: [day] })).toEqual({ doubts: [doubt(1)], suspicious: [doubt(1)] })
  expect(judged({ isPartial, days: [day] }, [doubt(2)]).doubts).toEqual([doubt(2)])
  expect(judged({ isPartial }, [doubt(2)]).doubts).toEqual([doubt(2)])
  const both = { ...doubt(4), units: [...pounds, 'unit height in ft, not m'] }
  expect(judged({ isPartial, days: [day] }, [both])).toEqual({ doubts: [both], suspicious: [] })
  expect(judged({ isPartial, days: [{ ...day, units: both.units }] }, [doubt(4)]).doubts).toEqual([
    { ...both, readings: 1 },
  ])
})

test('a day all of whose units are accepted is not suspicious', () => {
  const isAccepted = (unit: string) => unit === pounds[0]
  expect(judged({ days: [day] }, [], isAccepted)).toEqual({ doubts: [], suspicious: [] })
  expect(judged({ days: [day] }, [doubt(1)], isAccepted)).toEqual({ doubts: [], suspicious: [] })
})

test('a day with several units is suspicious until all of them are accepted, and is confirmed by the same units alone', () => {
  const both = { ...day, units: [...pounds, 'unit height in ft, not m'] }
  for (const accepted of both.units) {
    const isAccepted = (unit: string) => unit === accepted
    expect(judged({ days: [both] }, [], isAccepted).doubts).toEqual([{ ...both, readings: 1 }])
    expect(judged({ days: [both] }, [{ ...both, readings: 1 }], isAccepted).doubts).toEqual([{ ...both, readings: 2 }])
    expect(judged({ unchanged: true }, [{ ...both, readings: 1 }], isAccepted).doubts).toEqual([
      { ...both, readings: 2 },
    ])
  }
  expect(judged({ days: [both] }, [{ ...both, readings: 1 }], () => true).doubts).toEqual([])
  expect(judged({ days: [day] }, [{ ...both, readings: 3 }]).doubts).toEqual([doubt(1)])
})

test.each([
  ['begins with it', span(4, 10), []],
  ['ends with it', span(0, 5), []],
  ['is the day', span(4, 5), []],
  ['begins within it', { startMs: 4 * DAY + 1, endMs: 10 * DAY }, [doubt(2)]],
  ['ends within it', { startMs: 0, endMs: 5 * DAY - 1 }, [doubt(2)]],
])(
  'a day that is gone from a reading is forgotten where the window holds the whole day: the window %s',
  (_, window, doubts) => {
    expect(judged({ window }, [doubt(2)]).doubts).toEqual(doubts)
  },
)

test('the days are kept in their order, whenever each was read', () => {
  const known = [1, 4, 8].map((from) => ({ ...span(from, from + 1), units: pounds, readings: 2 }))
  const days = [9, 6, 0].map((from) => ({ ...span(from, from + 1), units: pounds }))
  const { doubts } = judged({ window: span(0, 10), days: [...days, ...known] }, known.toReversed())
  expect(doubts.map(({ startMs, readings }) => `${startMs / DAY}: ${readings}`)).toEqual([
    ...['0: 1', '1: 3', '4: 3', '6: 1', '8: 3', '9: 1'],
  ])
})

test('the newest days are remembered, and no more than a row may hold', () => {
  const days = Array.from({ length: 500 }, (_, n) => ({ ...span(n, n + 1), units: pounds }))
  const { doubts } = judged({ window: span(0, 500), days })
  expect([doubts.length, doubts.at(-1)?.startMs]).toEqual([200, 499 * DAY])
})
