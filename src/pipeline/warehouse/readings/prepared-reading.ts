import type { AdmissionVerdict, WindowEdges } from '../../ledger/judge.ts'
import type { WindowReading } from '../../transfer/reading.ts'
import { type RecordRow, toRecordRows } from './record-rows.ts'

/**
 * A reading whose records were made rows. The parsed records are let go: thousands of readings wait for their commit at a
 * time, and long-lived objects are the costliest for the garbage collector.
 */
export type PreparedReading = Omit<WindowReading, 'records'> & { readonly rows: readonly RecordRow[] }

/** A prepared reading that the judge admitted. Its `rows` are the records that no newer reading has covered. */
export type AdmittedReading = PreparedReading &
  AdmissionVerdict & {
    /** Earliest start of records that this reading is authoritative for (<= window start). */
    readonly reachBackToMs: number
    /** The key hashes of records that newer readings held across their edges: of these records this reading says nothing. */
    readonly heldByNewer: readonly number[]
    readonly edges: WindowEdges
    /** False: the reading is missing suspiciously many stored records, so a second reading must agree first. */
    readonly believed: boolean
  }

export function prepareReading({ records, invalid, ...reading }: WindowReading): PreparedReading {
  const { rows, invalid: withoutKey } = toRecordRows(reading.stream, records)
  return { ...reading, rows, invalid: [...invalid, ...withoutKey] }
}
