import { expect, test } from 'vitest'
import {
  type Arrival,
  isTheirs,
  judge,
  type LedgerState,
  mustHaveHeld,
  READING_AGE_MAX_MS,
  type Verdict,
} from '../../src/planner.ts'

const nowMs = 1_000_000_000
const fresh: LedgerState = { generation: 3, digesting: [], digestedAtMs: Number.NEGATIVE_INFINITY, recent: [] }
const arrival: Arrival = {
  span: { from: nowMs - 500, to: nowMs - 100 },
  whole: false,
  crossing: [],
  reachesBack: false,
  sentAtMs: nowMs - 50,
  serverAtMs: nowMs - 50,
  generation: 3,
  settleMs: 150,
}

function admitted(verdict: Verdict): Extract<Verdict, { kind: 'admitted' }> {
  if (verdict.kind !== 'admitted') throw new Error(`the reading was ${verdict.kind}`)
  return verdict
}
const judged = (more: Partial<Arrival>, state: Partial<LedgerState> = {}) =>
  admitted(judge({ ...arrival, ...more }, { ...fresh, ...state }, nowMs))

test('a reading covers up to when it was sent, less the settle time', () => {
  expect(judged({}).covers).toEqual([{ from: nowMs - 500, to: nowMs - 200 }])
})

test('the slower clock decides what had settled', () => {
  expect(judged({ serverAtMs: nowMs - 90 }).covers).toEqual([{ from: nowMs - 500, to: nowMs - 240 }])
  expect(judged({ serverAtMs: nowMs + 90 }).covers).toEqual([{ from: nowMs - 500, to: nowMs - 200 }])
  expect(judged({ serverAtMs: undefined }).covers).toEqual([{ from: nowMs - 500, to: nowMs - 200 }])
})

test('a window that has settled is covered to its very end, and one that has not, not at all', () => {
  expect(judged({ settleMs: 50 }).covers).toEqual([arrival.span])
  expect(judged({ settleMs: 450 }).covers).toEqual([])
  expect(judged({ settleMs: 449 }).covers).toEqual([{ from: nowMs - 500, to: nowMs - 499 }])
})

test('a reading that was planned before a push stores, but covers nothing', () => {
  const verdict = judged({ generation: 2 })

  expect(verdict).toMatchObject({ covers: [], complete: true })
})

test('what is still being derived is not covered by a reading sent before it is done, and is by one sent then', () => {
  const digesting = [{ from: nowMs - 400, to: nowMs - 300 }]

  expect(judged({}, { digesting, digestedAtMs: nowMs - 49 }).covers).toEqual([
    { from: nowMs - 500, to: nowMs - 400 },
    { from: nowMs - 300, to: nowMs - 200 },
  ])
  expect(judged({}, { digesting, digestedAtMs: nowMs - 50 }).covers).toEqual([{ from: nowMs - 500, to: nowMs - 200 }])
})

test('a reading that a newer one overlaps covers nothing and calls nothing gone', () => {
  const recent = [{ from: nowMs - 101, to: nowMs, sentAtMs: nowMs - 49, crossing: [], reachesBack: false }]

  expect(judged({}, { recent })).toMatchObject({ covers: [], complete: false, newer: recent })
})

test('a newer reading of the neighbouring window takes nothing away', () => {
  const recent = [{ from: nowMs - 100, to: nowMs, sentAtMs: nowMs - 49, crossing: [7], reachesBack: false }]

  const verdict = judged({}, { recent })

  expect(verdict).toMatchObject({ complete: true, covers: [{ from: nowMs - 500, to: nowMs - 200 }] })
  expect(verdict.newer).toEqual(recent)
})

test('a newer reading of a window away from ours speaks for what it held: a record may reach across several', () => {
  const recent = [{ from: nowMs - 2000, to: nowMs - 1000, sentAtMs: nowMs - 49, crossing: [7], reachesBack: false }]

  const verdict = judged({}, { recent })

  expect(verdict).toMatchObject({ newer: recent, complete: true, covers: [{ from: nowMs - 500, to: nowMs - 200 }] })
  expect(isTheirs({ from: nowMs - 1500, to: nowMs - 300, name: 7 }, verdict.newer)).toBe(true)
})

test('records that a newer reading must have held, or did hold, are not ours to write', () => {
  const newer = [{ from: 100, to: 200, sentAtMs: 1, crossing: [7], reachesBack: false }]

  expect(isTheirs({ from: 100, to: 100, name: 1 }, newer)).toBe(true)
  expect(isTheirs({ from: 150, to: 200, name: 1 }, newer)).toBe(true)
  expect(isTheirs({ from: 200, to: 200, name: 1 }, newer)).toBe(false)
  expect(isTheirs({ from: 99, to: 150, name: 1 }, newer)).toBe(false)
  expect(isTheirs({ from: 150, to: 201, name: 1 }, newer)).toBe(false)
  expect(isTheirs({ from: 99, to: 150, name: 7 }, newer)).toBe(true)
})

test('a record that began before the window belongs to the one it ends in, if upstream is seen to tell of such', () => {
  const window = { from: 100, to: 200 }
  const telling = { ...window, reachesBack: true }

  expect(mustHaveHeld(telling, { from: 90, to: 101 })).toBe(true)
  expect(mustHaveHeld(telling, { from: 90, to: 200 })).toBe(true)
  expect(mustHaveHeld(telling, { from: 90, to: 100 })).toBe(false)
  expect(mustHaveHeld(telling, { from: 90, to: 201 })).toBe(false)
  expect(mustHaveHeld({ ...window, reachesBack: false }, { from: 90, to: 101 })).toBe(false)
  expect(isTheirs({ from: 90, to: 150, name: 1 }, [{ ...telling, sentAtMs: 1, crossing: [2] }])).toBe(true)
})

test('a newer snapshot overtakes an older one, whatever the windows they were asked with', () => {
  const recent = [{ from: nowMs - 10, to: nowMs, sentAtMs: nowMs - 49, crossing: [], reachesBack: false }]

  expect(judged({ whole: true }, { recent })).toMatchObject({ covers: [], complete: false, newer: recent })
  expect(judged({ whole: true, sentAtMs: nowMs }, { recent })).toMatchObject({ complete: true, newer: [] })
})

test('a reading that was on its way for longer than readings are remembered does nothing', () => {
  const sentAtMs = nowMs - READING_AGE_MAX_MS

  expect(judge({ ...arrival, sentAtMs }, fresh, nowMs).kind).toBe('admitted')
  expect(judge({ ...arrival, sentAtMs: sentAtMs - 1 }, fresh, nowMs).kind).toBe('too-old')
})

test('a reading is remembered as long as it may be asked about, and not beside one that says more', () => {
  const old = { from: 0, to: 10, sentAtMs: nowMs - READING_AGE_MAX_MS - 1, crossing: [], reachesBack: false }
  const within = { from: nowMs - 400, to: nowMs - 300, sentAtMs: nowMs - 60, crossing: [], reachesBack: false }
  const beside = { from: nowMs - 900, to: nowMs - 800, sentAtMs: nowMs - 60, crossing: [], reachesBack: false }

  const { recent } = judged({}, { recent: [old, within, beside] })

  expect(recent).toEqual([beside, { ...arrival.span, sentAtMs: arrival.sentAtMs, crossing: [], reachesBack: false }])
})
