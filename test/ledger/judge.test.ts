import { expect, test } from 'vitest'
import {
  type ArrivedReading,
  isHeldByNewer,
  judgeReading,
  type LedgerState,
  mustHaveHeld,
  READING_AGE_MAX_MS,
  type ReadingVerdict,
} from '../../src/ledger/judge.ts'

const nowMs = 1_000_000_000
const fresh: LedgerState = { generation: 3, digesting: [], digestedAtMs: Number.NEGATIVE_INFINITY, recent: [] }
const arrived: ArrivedReading = {
  window: { startMs: nowMs - 500, endMs: nowMs - 100 },
  stream: { kind: 'windowed', settleMs: 150 },
  crossingHashes: [],
  reachesBack: false,
  sentAtMs: nowMs - 50,
  serverAtMs: nowMs - 50,
  word: undefined,
  generation: 3,
}

function admitted(verdict: ReadingVerdict): Extract<ReadingVerdict, { kind: 'admitted' }> {
  if (verdict.kind !== 'admitted') throw new Error(`the reading was ${verdict.kind}`)
  return verdict
}
const judged = (more: Partial<ArrivedReading>, state: Partial<LedgerState> = {}) =>
  admitted(judgeReading({ ...arrived, ...more }, { ...fresh, ...state }, nowMs))

test('a reading covers up to when it was sent, less the settle time', () => {
  expect(judged({}).covers).toEqual([{ startMs: nowMs - 500, endMs: nowMs - 200 }])
})

test('the slower clock decides what had settled', () => {
  expect(judged({ serverAtMs: nowMs - 90 }).covers).toEqual([{ startMs: nowMs - 500, endMs: nowMs - 240 }])
  expect(judged({ serverAtMs: nowMs + 90 }).covers).toEqual([{ startMs: nowMs - 500, endMs: nowMs - 200 }])
  expect(judged({ serverAtMs: undefined }).covers).toEqual([{ startMs: nowMs - 500, endMs: nowMs - 200 }])
})

test('a window that has settled is covered to its very end, and one that has not, not at all', () => {
  expect(judged({ stream: { kind: 'windowed', settleMs: 50 } }).covers).toEqual([arrived.window])
  expect(judged({ stream: { kind: 'windowed', settleMs: 450 } }).covers).toEqual([])
  expect(judged({ stream: { kind: 'windowed', settleMs: 449 } }).covers).toEqual([
    { startMs: nowMs - 500, endMs: nowMs - 499 },
  ])
})

test('a reading that was planned before a push stores, but covers nothing', () => {
  const verdict = judged({ generation: 2 })

  expect(verdict).toMatchObject({ covers: [], complete: true })
})

test('what is still being derived is not covered by a reading sent before it is done, and is by one sent then', () => {
  const digesting = [{ startMs: nowMs - 400, endMs: nowMs - 300 }]

  expect(judged({}, { digesting, digestedAtMs: nowMs - 49 }).covers).toEqual([
    { startMs: nowMs - 500, endMs: nowMs - 400 },
    { startMs: nowMs - 300, endMs: nowMs - 200 },
  ])
  expect(judged({}, { digesting, digestedAtMs: nowMs - 50 }).covers).toEqual([
    { startMs: nowMs - 500, endMs: nowMs - 200 },
  ])
})

test('a reading that upstream calls pending covers nothing and calls nothing gone, and one that it calls finished covers what is digesting', () => {
  const digesting = [{ startMs: nowMs - 400, endMs: nowMs - 300 }]
  const state = { digesting, digestedAtMs: nowMs + 1000 }

  expect(judged({ word: 'pending' })).toMatchObject({ covers: [], complete: false })
  expect(judged({ word: 'pending' }, state).covers).toEqual([])
  expect(judged({ word: 'finished' }, state).covers).toEqual([{ startMs: nowMs - 500, endMs: nowMs - 200 }])
  expect(judged({ word: 'finished', generation: 2 }, state).covers).toEqual([])
})

test('a reading that a newer one overlaps covers nothing and calls nothing gone', () => {
  const recent = [{ startMs: nowMs - 101, endMs: nowMs, sentAtMs: nowMs - 49, crossingHashes: [], reachesBack: false }]

  expect(judged({}, { recent })).toMatchObject({ covers: [], complete: false, newer: recent })
})

test('a newer reading of the neighbouring window takes nothing away', () => {
  const recent = [{ startMs: nowMs - 100, endMs: nowMs, sentAtMs: nowMs - 49, crossingHashes: [7], reachesBack: false }]

  const verdict = judged({}, { recent })

  expect(verdict).toMatchObject({ complete: true, covers: [{ startMs: nowMs - 500, endMs: nowMs - 200 }] })
  expect(verdict.newer).toEqual(recent)
})

test('a newer reading of a window away from ours speaks for what it held: a record may reach across several', () => {
  const recent = [
    { startMs: nowMs - 2000, endMs: nowMs - 1000, sentAtMs: nowMs - 49, crossingHashes: [7], reachesBack: false },
  ]

  const verdict = judged({}, { recent })

  expect(verdict).toMatchObject({
    newer: recent,
    complete: true,
    covers: [{ startMs: nowMs - 500, endMs: nowMs - 200 }],
  })
  expect(isHeldByNewer({ startMs: nowMs - 1500, endMs: nowMs - 300, keyHash: 7 }, verdict.newer)).toBe(true)
})

test('records that a newer reading must have held, or did hold, are not ours to write', () => {
  const newer = [{ startMs: 100, endMs: 200, sentAtMs: 1, crossingHashes: [7], reachesBack: false }]

  expect(isHeldByNewer({ startMs: 100, endMs: 100, keyHash: 1 }, newer)).toBe(true)
  expect(isHeldByNewer({ startMs: 150, endMs: 200, keyHash: 1 }, newer)).toBe(true)
  expect(isHeldByNewer({ startMs: 200, endMs: 200, keyHash: 1 }, newer)).toBe(false)
  expect(isHeldByNewer({ startMs: 99, endMs: 150, keyHash: 1 }, newer)).toBe(false)
  expect(isHeldByNewer({ startMs: 150, endMs: 201, keyHash: 1 }, newer)).toBe(false)
  expect(isHeldByNewer({ startMs: 99, endMs: 150, keyHash: 7 }, newer)).toBe(true)
})

test('a record that began before the window belongs to the one it ends in, if upstream is seen to tell of such', () => {
  const window = { startMs: 100, endMs: 200 }
  const telling = { ...window, reachesBack: true }

  expect(mustHaveHeld(telling, { startMs: 90, endMs: 101 })).toBe(true)
  expect(mustHaveHeld(telling, { startMs: 90, endMs: 200 })).toBe(true)
  expect(mustHaveHeld(telling, { startMs: 90, endMs: 100 })).toBe(false)
  expect(mustHaveHeld(telling, { startMs: 90, endMs: 201 })).toBe(false)
  expect(mustHaveHeld({ ...window, reachesBack: false }, { startMs: 90, endMs: 101 })).toBe(false)
  expect(
    isHeldByNewer({ startMs: 90, endMs: 150, keyHash: 1 }, [{ ...telling, sentAtMs: 1, crossingHashes: [2] }]),
  ).toBe(true)
})

test('a newer snapshot overtakes an older one, whatever the windows they were asked with', () => {
  const snapshot = { kind: 'snapshot', settleMs: 150 } as const
  const recent = [{ startMs: nowMs - 10, endMs: nowMs, sentAtMs: nowMs - 49, crossingHashes: [], reachesBack: false }]

  expect(judged({ stream: snapshot }, { recent })).toMatchObject({ covers: [], complete: false, newer: recent })
  expect(judged({ stream: snapshot, sentAtMs: nowMs }, { recent })).toMatchObject({ complete: true, newer: [] })
})

test('a reading that was on its way for longer than readings are remembered does nothing', () => {
  const sentAtMs = nowMs - READING_AGE_MAX_MS

  expect(judgeReading({ ...arrived, sentAtMs }, fresh, nowMs).kind).toBe('admitted')
  expect(judgeReading({ ...arrived, sentAtMs: sentAtMs - 1 }, fresh, nowMs).kind).toBe('too-old')
})

test('a reading is remembered as long as it may be asked about, and not beside one that says more', () => {
  const old = {
    startMs: 0,
    endMs: 10,
    sentAtMs: nowMs - READING_AGE_MAX_MS - 1,
    crossingHashes: [],
    reachesBack: false,
  }
  const within = {
    startMs: nowMs - 400,
    endMs: nowMs - 300,
    sentAtMs: nowMs - 60,
    crossingHashes: [],
    reachesBack: false,
  }
  const beside = {
    startMs: nowMs - 900,
    endMs: nowMs - 800,
    sentAtMs: nowMs - 60,
    crossingHashes: [],
    reachesBack: false,
  }

  const { recent } = judged({}, { recent: [old, within, beside] })

  expect(recent).toEqual([
    beside,
    { ...arrived.window, sentAtMs: arrived.sentAtMs, crossingHashes: [], reachesBack: false },
  ])
})
