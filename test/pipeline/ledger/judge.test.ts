import { expect, test } from 'vitest'
import {
  isHeldByNewer,
  judgeReading,
  type LedgerState,
  mustHaveHeld,
  READING_AGE_MAX_MS,
  settleReading,
  type Verdict,
} from '../../../src/pipeline/ledger/judge.ts'

type Arrived = Parameters<typeof judgeReading>[0] & Parameters<typeof settleReading>[0]

const nowMs = 1_000_000_000
const fresh: LedgerState = { generation: 3, awaiting: [], recent: [] }
const rule = { settleMs: 150, intervalsMs: [10, 20, 40] }
const arrived: Arrived = {
  window: { startMs: nowMs - 500, endMs: nowMs - 100 },
  stream: { kind: 'windowed' },
  crossingHashes: [],
  reachesBack: false,
  sentAtMs: nowMs - 50,
  serverAtMs: nowMs - 50,
  word: undefined,
  generation: 3,
}

function admitted(verdict: Verdict): Extract<Verdict, { kind: 'admitted' }> {
  if (verdict.kind !== 'admitted') throw new Error(`the reading was ${verdict.kind}`)
  return verdict
}
type Stored = { settleMs?: number; firstChangeMs?: number }

/** Judges a reading, and settles it by what it changed. */
function judged(more: Partial<Arrived>, state: Partial<LedgerState> = {}, stored: Stored = {}) {
  const [reading, ledger] = [
    { ...arrived, ...more },
    { ...fresh, ...state },
  ]
  const verdict = admitted(judgeReading(reading, ledger, nowMs))
  const { settleMs = rule.settleMs, firstChangeMs } = stored
  const { mayCover } = verdict
  return { ...verdict, ...settleReading(reading, ledger, { mayCover, firstChangeMs, rule: { ...rule, settleMs } }) }
}

test('a reading covers up to when it was sent, less the settle time', () => {
  expect(judged({}).covers).toEqual([{ startMs: nowMs - 500, endMs: nowMs - 200 }])
})

test('the slower clock decides what had settled', () => {
  expect(judged({ serverAtMs: nowMs - 90 }).covers).toEqual([{ startMs: nowMs - 500, endMs: nowMs - 240 }])
  expect(judged({ serverAtMs: nowMs + 90 }).covers).toEqual([{ startMs: nowMs - 500, endMs: nowMs - 200 }])
  expect(judged({ serverAtMs: undefined }).covers).toEqual([{ startMs: nowMs - 500, endMs: nowMs - 200 }])
})

test('a window that has settled is covered to its very end, and one that has not, not at all', () => {
  expect(judged({}, {}, { settleMs: 50 }).covers).toEqual([arrived.window])
  expect(judged({}, {}, { settleMs: 450 }).covers).toEqual([])
  expect(judged({}, {}, { settleMs: 449 }).covers).toEqual([{ startMs: nowMs - 500, endMs: nowMs - 499 }])
})

test('a reading that was planned before a push stores, but covers nothing', () => {
  const verdict = judged({ generation: 2 })

  expect(verdict).toMatchObject({ covers: [], complete: true })
})

const touched = { startMs: nowMs - 400, endMs: nowMs - 300, touchedAtMs: nowMs - 300, readAtMs: null, readings: 0 }
test('the slower clock decides whether a push is old enough to settle', () => {
  const agreed = { ...touched, readAtMs: nowMs - 200, readings: 1 }
  const left = (serverAtMs: number) => judged({ serverAtMs }, { awaiting: [agreed] }).awaiting

  expect(left(nowMs - 150)).toEqual([])
  expect(left(nowMs - 151)).toEqual([{ ...agreed, readAtMs: nowMs - 50, readings: 2 }])
})

const aroundTouched = [
  { startMs: nowMs - 500, endMs: nowMs - 400 },
  { startMs: nowMs - 300, endMs: nowMs - 200 },
]

test('a span that a push touched is covered by the second of two readings that agree, and not before', () => {
  const first = judged({}, { awaiting: [touched] })
  expect(first.covers).toEqual(aroundTouched)
  expect(first.awaiting).toEqual([{ ...touched, readAtMs: nowMs - 50, readings: 1 }])

  const second = judged({ sentAtMs: nowMs - 10, serverAtMs: nowMs - 10 }, { awaiting: first.awaiting })
  expect(second.covers).toEqual([{ startMs: nowMs - 500, endMs: nowMs - 160 }])
  expect(second.awaiting).toEqual([])
})

test('upstream’s derivation state settles pushed spans, or leaves the whole window uncovered', () => {
  expect(judged({ word: 'finished' }, { awaiting: [touched] })).toMatchObject({
    covers: [{ startMs: nowMs - 500, endMs: nowMs - 200 }],
    awaiting: [],
  })
  const pending = judged({ word: 'pending' }, { awaiting: [touched] })
  expect(pending.covers).toEqual([])
  expect(pending.awaiting).toContainEqual({ ...touched, readAtMs: nowMs - 50, readings: 1 })
  expect(judged({ word: 'pending', generation: 2 })).toMatchObject({ covers: [], uncovers: [], awaiting: [] })
  expect(judged({ word: 'finished', generation: 2 }, { awaiting: [touched] })).toMatchObject({ covers: [] })
})

test('a span that upstream calls pending without a push of ours is uncovered, and settles by its state or as after a push', () => {
  const window = { startMs: nowMs - 500, endMs: nowMs - 200 }
  const part = { ...window, touchedAtMs: nowMs - 50, readAtMs: nowMs - 50, readings: 1 }

  const pending = judged({ word: 'pending' })
  expect(pending).toMatchObject({ covers: [], complete: false, uncovers: [window], awaiting: [part] })

  const later = { sentAtMs: nowMs - 10, serverAtMs: nowMs - 10, word: 'finished' } as const
  expect(judged(later, { awaiting: pending.awaiting })).toMatchObject({ uncovers: [], awaiting: [] })
  expect(judged({ ...later, word: undefined }, { awaiting: pending.awaiting }).awaiting).toHaveLength(1)
})

test('a change of settled records restarts the agreement, a change of the newest days does not', () => {
  const agreeing = { awaiting: [{ ...touched, readAtMs: nowMs - 100, readings: 1 }] }

  expect(judged({}, agreeing, { firstChangeMs: nowMs - 200 })).toMatchObject({
    covers: aroundTouched,
    awaiting: [{ ...touched, readAtMs: nowMs - 50, readings: 1 }],
  })
  expect(judged({}, agreeing, { firstChangeMs: nowMs - 199 })).toMatchObject({ awaiting: [] })
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

test('a record that began before the window belongs to the one it ends in, if upstream is seen to send such records', () => {
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
  const snapshot = { kind: 'snapshot' } as const
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
