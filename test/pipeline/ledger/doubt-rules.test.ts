import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type DoubtedReading, judgeDoubts, type TestedReading } from '../../../src/pipeline/ledger/doubt.ts'

const belief = { goneShareMax: 0.5, spacingMs: 10 }
const hashes = fc.uniqueArray(fc.integer({ min: 1, max: 6 }), { maxLength: 6 })
const sentAtMs = fc.integer({ min: 980, max: 1_020 })
const window = fc.constantFrom({ startMs: 0, endMs: 100 }, { startMs: 10, endMs: 90 }, { startMs: 50, endMs: 150 })
const doubt = fc
  .record({ window, sentAtMs, lackedHashes: hashes.filter(({ length }) => length > 0) })
  .map(({ window: span, ...rest }): DoubtedReading => ({ ...span, ...rest }))
const tested = fc.record({ window, held: hashes, lacked: hashes, complete: fc.boolean() }).map(
  ({ window: span, held, lacked, complete }): TestedReading => ({
    window: span,
    sentAtMs: 1_000,
    heldHashes: new Set(held),
    complete,
    lackedHashes: lacked.filter((hash) => !held.includes(hash)),
  }),
)

/** Pairs of a doubted record and the reading that lacked it. */
const pairs = (doubts: readonly DoubtedReading[]) =>
  doubts.flatMap(({ lackedHashes, ...reading }) => lackedHashes.map((hash) => ({ ...reading, hash })))

test('a reading is believed when each record that it lacks was lacked by a reading long enough before, and is not held by it', () => {
  fc.assert(
    fc.property(tested, fc.array(doubt, { maxLength: 4 }), (reading, before) => {
      const lackedBefore = new Set(
        pairs(before)
          .filter((one) => one.sentAtMs <= 990)
          .map(({ hash }) => hash),
      )

      expect(judgeDoubts(reading, before, belief).isDoubted).toBe(
        reading.lackedHashes.some((hash) => !lackedBefore.has(hash)),
      )
    }),
  )
})

test('doubts end by a later reading that holds the record, and by a believed one that speaks for the whole window', () => {
  fc.assert(
    fc.property(tested, fc.array(doubt, { maxLength: 4 }), (reading, before) => {
      const { isDoubted, doubts } = judgeDoubts(reading, before, belief)
      const isOlder = (one: { sentAtMs: number }) => one.sentAtMs < reading.sentAtMs
      const open = pairs(before).filter((one) => !(isOlder(one) && reading.heldHashes.has(one.hash)))
      const known = new Set(open.map(({ hash }) => hash))
      const added = reading.lackedHashes.filter((hash) => !known.has(hash))
      const speaksFor = (one: DoubtedReading | (typeof open)[number]) =>
        reading.complete && isOlder(one) && one.startMs >= reading.window.startMs && one.endMs <= reading.window.endMs

      expect(pairs(doubts)).toEqual(
        isDoubted
          ? [...open, ...added.map((hash) => ({ ...reading.window, sentAtMs: reading.sentAtMs, hash }))]
          : open.filter((one) => !speaksFor(one) && !reading.lackedHashes.includes(one.hash)),
      )
      expect(doubts.every(({ lackedHashes }) => lackedHashes.length > 0)).toBe(true)
    }),
  )
})
