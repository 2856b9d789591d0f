import type { Span } from '../../../base/time/spans.ts'
import { type LockedLedgerRow, profileStreamKey } from '../ledger/ledger-rows.ts'
import type { TagChange } from '../ledger/reading-tags.ts'
import type { StreamChanges } from './record-changes.ts'
import { type AdmittedReading, type IncomingRecord, recordPeriod } from './record-rows.ts'

/**
 * Which tags stand for stored records after these readings. A tag is kept only if the stored records of its window are
 * exactly what the answer with that tag held: nothing of the answer was invalid, held by a newer reading or not believed, and
 * no reading changed a record of the window since. Where upstream gives no tags, there is nothing to do.
 */
export function tagChangesOf(
  { admitted, changes }: { readonly admitted: readonly AdmittedReading[]; readonly changes: readonly StreamChanges[] },
  ledger: ReadonlyMap<string, LockedLedgerRow>,
): TagChange[] {
  const keptTagOf = (reading: AdmittedReading) =>
    ledger.get(profileStreamKey(reading))?.falseTags ? undefined : tagOf(reading)
  const changing = admitted.filter((reading) => {
    const isTagged = ledger.get(profileStreamKey(reading))?.tagged === true
    return !reading.unchanged && (isTagged || keptTagOf(reading) !== undefined)
  })
  if (changing.length === 0) return []
  const touched = touchedSpans(changes)
  return changing.map((reading) => {
    const key = profileStreamKey(reading)
    return {
      ...reading,
      ...reading.edges,
      tag: keptTagOf(reading),
      touched: touchedOf(reading, touched.get(key)),
      isFirst: ledger.get(key)?.tagged !== true,
    }
  })
}

/** The tag, if the stored records of the window are exactly those of the answer. */
const tagOf = ({ complete, mayCover, believed, newer, tag }: AdmittedReading): string | undefined =>
  complete && mayCover && believed && newer.length === 0 ? tag : undefined

type Touched = { readonly span: Span | undefined; readonly vanished: boolean }

function touchedOf({ stream, window, reachBackToMs, believed }: AdmittedReading, touched?: Touched): Span | undefined {
  if (stream.kind === 'snapshot') return undefined
  // Records that vanished or may have vanished lay within the window or reached into it.
  const whole = touched?.vanished || !believed ? { startMs: reachBackToMs, endMs: window.endMs } : undefined
  return hullOf(touched?.span, whole)
}

/** By the keys of ledger rows, the span of the records that were written. */
function touchedSpans(changes: readonly StreamChanges[]): Map<string, Touched> {
  const touched = new Map<string, Touched>()
  for (const { stream, added, changed, vanished } of changes) {
    const add = (profileId: string, span: Span | undefined, isVanished: boolean) => {
      const key = profileStreamKey({ profileId, stream })
      const before = touched.get(key)
      touched.set(key, { span: hullOf(before?.span, span), vanished: isVanished })
    }
    for (const { row, reading } of added) add(reading.profileId, recordPeriod(row), false)
    for (const record of changed) add(record.reading.profileId, withFormerPeriod(record), false)
    // After the others: a stream has one entry, so no other record of the key follows.
    for (const { profileId } of vanished) add(profileId, undefined, true)
  }
  return touched
}

/** The former version of a record began where the present one does, and may have ended later. */
function withFormerPeriod({ row, reading }: IncomingRecord): Span {
  const { startMs, endMs } = recordPeriod(row)
  return { startMs, endMs: Math.max(endMs, startMs + (reading.stream.longestMs ?? 0)) }
}

function hullOf(a: Span | undefined, b: Span | undefined): Span | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return { startMs: Math.min(a.startMs, b.startMs), endMs: Math.max(a.endMs, b.endMs) }
}
