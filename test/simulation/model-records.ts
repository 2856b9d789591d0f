import { type Belief, MANY_RECORDS } from '../../src/pipeline/ledger/suspicion.ts'
import type { ModelReading } from './model-reading.ts'
import type { FormerRecord, ModelProfile, StoredRecord } from './model-state.ts'
import { type ModelRecord, periodOf } from './records.ts'

export type ModelChanges = {
  readonly added: readonly ModelRecord[]
  readonly changed: readonly ModelRecord[]
  readonly vanished: readonly StoredRecord[]
  /** Records that a reading lacks which alone is not believed. */
  readonly suspicious: readonly StoredRecord[]
}

/** The records that are new, changed or lacking, by what is stored. */
export function compareWithStored(here: ModelProfile, reading: ModelReading, { goneShareMax }: Belief): ModelChanges {
  const { sentAtMs, records } = reading
  const added = records.filter(({ id }) => !here.records.has(id))
  const changed = records.filter((one) => {
    const known = here.records.get(one.id)
    // An unchanged record is not touched, and keeps the instant of the reading that wrote it.
    return known && known.readAtMs < sentAtMs && (known.raw !== one.raw || known.goneMs !== null)
  })
  const held = new Set([
    ...records.map(({ keyHash }) => keyHash),
    ...reading.newer.flatMap(({ crossingHashes }) => crossingHashes),
  ])
  const due = reading.complete ? liveOf(here, reading).filter((one) => mustHaveHeldIt(reading, one)) : []
  const lost = due.filter(({ readAtMs, keyHash }) => readAtMs < sentAtMs && !held.has(keyHash))
  const isMany = lost.length === due.length || (due.length >= MANY_RECORDS && lost.length > due.length * goneShareMax)
  const isSuspicious = goneShareMax < 1 && lost.length > 0 && isMany
  return { added, changed, vanished: isSuspicious ? [] : lost, suspicious: isSuspicious ? lost : [] }
}

const liveOf = (here: ModelProfile, { stream }: ModelReading): StoredRecord[] =>
  [...here.records.values()].filter(({ goneMs, stream: its }) => goneMs === null && its === stream.name)

/** Said once more, as the statement says it: not by the function of the judge. */
function mustHaveHeldIt({ stream, window, reachBackToMs }: ModelReading, one: StoredRecord): boolean {
  if (stream.kind === 'snapshot') return true
  const { startMs, endMs } = periodOf(one)
  if (startMs < reachBackToMs || startMs >= window.endMs || endMs > window.endMs) return false
  return startMs >= window.startMs || endMs > window.startMs
}

export function writeChanges(here: ModelProfile, reading: ModelReading, changes: ModelChanges): void {
  const atMs = reading.sentAtMs
  const stream = reading.stream.name
  for (const one of changes.added)
    here.records.set(one.id, {
      ...{ ...one, stream, revision: 1, goneMs: null },
      ...{ readAtMs: atMs, firstSeenMs: atMs, changedMs: atMs },
    })
  for (const one of changes.changed) {
    const former = here.records.get(one.id)
    if (!former) continue
    here.history.push(formerOf(former, atMs))
    const { revision, firstSeenMs } = former
    here.records.set(one.id, {
      ...{ ...one, stream, firstSeenMs, revision: revision + 1 },
      ...{ goneMs: null, readAtMs: atMs, changedMs: atMs },
    })
  }
  for (const former of changes.vanished) {
    here.history.push(formerOf(former, atMs))
    const revision = former.revision + 1
    here.records.set(former.id, { ...former, revision, goneMs: atMs, changedMs: atMs, readAtMs: atMs })
  }
}

const formerOf = ({ stream, key, revision, raw, changedMs, goneMs }: StoredRecord, untilMs: number): FormerRecord => ({
  ...{ stream, key, revision, raw, goneMs },
  ...{ fromMs: changedMs, untilMs },
})
