import fc from 'fast-check'
import { expect, test } from 'vitest'
import { judgeSuspicions, type Suspicion } from '../../../src/pipeline/ledger/suspicion.ts'

type Tested = Parameters<typeof judgeSuspicions>[0]

const belief = { goneShareMax: 0.5, spacingMs: 10 }
const hashes = fc.uniqueArray(fc.integer({ min: 1, max: 6 }), { maxLength: 6 })
const sentAtMs = fc.integer({ min: 980, max: 1_020 })
const window = fc.constantFrom({ startMs: 0, endMs: 100 }, { startMs: 10, endMs: 90 }, { startMs: 50, endMs: 150 })
const suspicion = fc
  .record({ window, sentAtMs, lackedHashes: hashes.filter(({ length }) => length > 0) })
  .map(({ window: span, ...rest }): Suspicion => ({ ...span, ...rest }))
const tested = fc.record({ window, held: hashes, lacked: hashes, complete: fc.boolean() }).map(
  ({ window: span, held, lacked, complete }): Tested => ({
    window: span,
    sentAtMs: 1_000,
    heldHashes: new Set(held),
    complete,
    lackedHashes: lacked.filter((hash) => !held.includes(hash)),
  }),
)

/** Pairs of a suspicious record and the reading that lacked it. */
const pairs = (suspicions: readonly Suspicion[]) =>
  suspicions.flatMap(({ lackedHashes, ...reading }) => lackedHashes.map((hash) => ({ ...reading, hash })))

test('a reading is believed when each record that it lacks was lacked by a reading long enough before, and is not held by it', () => {
  fc.assert(
    fc.property(tested, fc.array(suspicion, { maxLength: 4 }), (reading, before) => {
      const lackedBefore = new Set(
        pairs(before)
          .filter((pair) => pair.sentAtMs <= 990)
          .map(({ hash }) => hash),
      )

      expect(judgeSuspicions(reading, before, belief).isSuspicious).toBe(
        reading.lackedHashes.some((hash) => !lackedBefore.has(hash)),
      )
    }),
  )
})

test('suspicions end by a later reading that holds the record, and by a believed one that speaks for the whole window', () => {
  fc.assert(
    fc.property(tested, fc.array(suspicion, { maxLength: 4 }), (reading, before) => {
      const { isSuspicious, suspicions } = judgeSuspicions(reading, before, belief)
      const isOlder = (suspicion: { sentAtMs: number }) => suspicion.sentAtMs < reading.sentAtMs
      const open = pairs(before).filter((pair) => !(isOlder(pair) && reading.heldHashes.has(pair.hash)))
      const known = new Set(open.map(({ hash }) => hash))
      const added = reading.lackedHashes.filter((hash) => !known.has(hash))
      const speaksFor = (suspicion: Suspicion | (typeof open)[number]) =>
        reading.complete &&
        isOlder(suspicion) &&
        suspicion.startMs >= reading.window.startMs &&
        suspicion.endMs <= reading.window.endMs

      expect(pairs(suspicions)).toEqual(
        isSuspicious
          ? [...open, ...added.map((hash) => ({ ...reading.window, sentAtMs: reading.sentAtMs, hash }))]
          : open.filter((suspicion) => !speaksFor(suspicion) && !reading.lackedHashes.includes(suspicion.hash)),
      )
      expect(suspicions.every(({ lackedHashes }) => lackedHashes.length > 0)).toBe(true)
    }),
  )
})
