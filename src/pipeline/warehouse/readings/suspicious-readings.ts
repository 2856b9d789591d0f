import { type Belief, judgeSuspicions } from '../../ledger/suspicion.ts'
import { type LockedLedgerRow, profileStreamKey, writeSuspicions } from '../ledger/ledger-rows.ts'
import type { Tx } from '../postgres/warehouse-pool.ts'
import { markConfirmedGone, type StreamChanges } from './record-changes.ts'
import { type AdmittedReading, recordKeyHash } from './record-rows.ts'

type Compared = { readonly admitted: readonly AdmittedReading[]; readonly changes: readonly StreamChanges[] }

/**
 * Decides which readings are believed that lack more stored records than one reading may mark gone, and remembers in the
 * ledger what each of them lacked. The memory is part of the transaction: it survives a kill, and all processes share it.
 */
export async function resolveSuspicions(
  tx: Tx,
  { admitted, changes }: Compared,
  { ledger, belief }: { readonly ledger: ReadonlyMap<string, LockedLedgerRow>; readonly belief: Belief },
): Promise<Compared> {
  const lackedBy = new Map(
    changes.flatMap(({ suspicious }) => suspicious.map(({ reading, lackedHashes }) => [reading, lackedHashes])),
  )
  const judged = admitted.flatMap((reading) => {
    const before = ledger.get(profileStreamKey(reading))?.suspicions ?? []
    const lackedHashes = lackedBy.get(reading) ?? []
    if (before.length === 0 && lackedHashes.length === 0) return []
    const heldHashes = new Set(reading.rows.map(recordKeyHash))
    return [{ reading, ...judgeSuspicions({ ...reading, heldHashes, lackedHashes }, before, belief) }]
  })
  if (judged.length === 0) return { admitted, changes }
  await writeSuspicions(
    tx,
    judged.map(({ reading, suspicions }) => ({ ...reading, suspicions })),
  )
  const suspicious = new Set(judged.flatMap(({ reading, isSuspicious }) => (isSuspicious ? [reading] : [])))
  return {
    admitted: admitted.map((reading) =>
      suspicious.has(reading) ? { ...reading, mayCover: false, complete: false, believed: false } : reading,
    ),
    changes: await withConfirmed(tx, changes, suspicious),
  }
}

async function withConfirmed(
  tx: Tx,
  changes: readonly StreamChanges[],
  suspicious: ReadonlySet<AdmittedReading>,
): Promise<StreamChanges[]> {
  const confirmed: StreamChanges[] = []
  for (const change of changes) {
    const readings = change.suspicious.flatMap(({ reading }) => (suspicious.has(reading) ? [] : [reading]))
    const vanished = readings.length > 0 ? await markConfirmedGone(tx, change.stream, readings) : []
    confirmed.push({ ...change, vanished: [...change.vanished, ...vanished] })
  }
  return confirmed
}
