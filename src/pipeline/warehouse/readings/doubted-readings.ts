import { type Belief, judgeDoubts } from '../../ledger/doubt.ts'
import { type LockedLedgerRow, profileStreamKey, writeDoubts } from '../ledger/ledger-rows.ts'
import type { Tx } from '../postgres/warehouse-pool.ts'
import type { AdmittedReading } from './prepared-reading.ts'
import { markConfirmedGone, type StreamChanges } from './record-changes.ts'
import { recordKeyHash } from './record-rows.ts'

type Compared = { readonly admitted: readonly AdmittedReading[]; readonly changes: readonly StreamChanges[] }
type LockedLedger = ReadonlyMap<string, LockedLedgerRow>

/**
 * Decides which readings are believed that lack more stored records than one reading may mark gone, and remembers in the
 * ledger what each of them lacked. The memory is part of the transaction: it survives a kill, and all processes share it.
 */
export async function resolveDoubts(
  tx: Tx,
  { admitted, changes }: Compared,
  { ledger, belief }: { readonly ledger: LockedLedger; readonly belief: Belief },
): Promise<Compared> {
  const lackedBy = new Map(
    changes.flatMap(({ doubtful }) => doubtful.map(({ reading, lackedHashes }) => [reading, lackedHashes])),
  )
  const judged = admitted.flatMap((reading) => {
    const before = ledger.get(profileStreamKey(reading))?.doubts ?? []
    const lackedHashes = lackedBy.get(reading) ?? []
    if (before.length === 0 && lackedHashes.length === 0) return []
    const heldHashes = new Set(reading.rows.map(recordKeyHash))
    return [{ reading, ...judgeDoubts({ ...reading, heldHashes, lackedHashes }, before, belief) }]
  })
  if (judged.length === 0) return { admitted, changes }
  await writeDoubts(
    tx,
    judged.map(({ reading, doubts }) => ({ ...reading, doubts })),
  )
  const doubted = new Set(judged.flatMap(({ reading, isDoubted }) => (isDoubted ? [reading] : [])))
  return {
    admitted: admitted.map((one) =>
      doubted.has(one) ? { ...one, mayCover: false, complete: false, believed: false } : one,
    ),
    changes: await withConfirmed(tx, changes, doubted),
  }
}

async function withConfirmed(
  tx: Tx,
  changes: readonly StreamChanges[],
  doubted: ReadonlySet<AdmittedReading>,
): Promise<StreamChanges[]> {
  const confirmed: StreamChanges[] = []
  for (const change of changes) {
    const readings = change.doubtful.flatMap(({ reading }) => (doubted.has(reading) ? [] : [reading]))
    const vanished = readings.length > 0 ? await markConfirmedGone(tx, change.stream, readings) : []
    confirmed.push({ ...change, vanished: [...change.vanished, ...vanished] })
  }
  return confirmed
}
