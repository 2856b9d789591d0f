import type { PulledStream } from '../../transfer/stream.ts'
import { profileStreamKey } from '../ledger/ledger-rows.ts'
import { type CopyCommand, copyRows } from '../postgres/copy-rows.ts'
import { pipelined, type Tx } from '../postgres/warehouse-pool.ts'
import { compareParameters, compareStatement } from './compare-statement.ts'
import type { AdmittedReading, IncomingRecord, RecordRow } from './record-rows.ts'
import {
  addRows,
  addStatement,
  replaceParameters,
  replaceStatements,
  type VanishedKey,
  vanishParameters,
  vanishStatements,
} from './record-statements.ts'

/** `endMs`: null in snapshots. */
type VanishedRecord = { readonly profileId: string; readonly endMs: number | null }

/** The records of one stream that are new, changed or gone. */
export type StreamChanges = {
  readonly stream: PulledStream
  readonly added: readonly IncomingRecord[]
  readonly changed: readonly IncomingRecord[]
  readonly vanished: readonly VanishedRecord[]
  /** The readings that lack more stored records than one reading may mark gone. They have marked nothing. */
  readonly suspicious: ReadonlyArray<{ readonly reading: AdmittedReading; readonly lackedHashes: readonly number[] }>
}

/** Finds the records that are new or changed, and marks gone the records that complete readings lack. */
export async function findRecordChanges(
  tx: Tx,
  stream: PulledStream,
  {
    first,
    later,
    goneShareMax,
  }: {
    /** Readings of streams for which nothing was ever stored: all their records are new. */
    readonly first: readonly AdmittedReading[]
    readonly later: readonly AdmittedReading[]
    readonly goneShareMax: number
  },
): Promise<StreamChanges> {
  const added = incomingRecordsOf(first)
  // A reading that says nothing of any record, as a 304 does, has nothing to be compared: its window may hold thousands.
  const telling = later.filter((reading) => reading.rows.length > 0 || reading.complete)
  if (telling.length === 0) return { stream, added, changed: [], vanished: [], suspicious: [] }
  const incoming = incomingRecordsOf(telling)
  const compared = await compareRecords(tx, stream, telling, { incoming, goneShareMax })
  const numbered = (numbers: readonly number[] | null | undefined) =>
    (numbers ?? []).flatMap((number) => incoming[number - 1] ?? [])
  return {
    stream,
    added: [...added, ...numbered(compared?.added)],
    changed: numbered(compared?.changed),
    vanished: vanishedRecords(compared),
    suspicious: Object.entries(compared?.suspicious ?? {}).flatMap(([number, lackedHashes]) => {
      const reading = telling[Number(number) - 1]
      return reading === undefined ? [] : [{ reading, lackedHashes }]
    }),
  }
}

/** Marks gone the records that suspicious readings lack, once other readings agree. */
export async function markConfirmedGone(
  tx: Tx,
  stream: PulledStream,
  readings: readonly AdmittedReading[],
): Promise<readonly VanishedRecord[]> {
  const incoming = incomingRecordsOf(readings)
  return vanishedRecords(await compareRecords(tx, stream, readings, { incoming, goneShareMax: 1 }))
}

const vanishedRecords = (compared: ComparedRow | undefined): VanishedRecord[] =>
  (compared?.vanished ?? []).map((key) => ({ profileId: String(key[0]), endMs: endMsOf(key) }))

const endMsOf = (key: VanishedKey): number | null => {
  const endMs = key.at(-1)
  return typeof endMs === 'number' ? endMs : null
}

async function compareRecords(
  tx: Tx,
  stream: PulledStream,
  readings: readonly AdmittedReading[],
  { incoming, goneShareMax }: { readonly incoming: readonly IncomingRecord[]; readonly goneShareMax: number },
): Promise<ComparedRow | undefined> {
  const { rows } = await tx.query<ComparedRow>({
    name: `compare ${stream.name}`,
    text: compareStatement(stream),
    values: compareParameters(stream, incoming, { readings, goneShareMax }),
  })
  const compared = rows[0]
  if (compared?.vanished) await markGone(tx, stream, compared.vanished)
  return compared
}

async function markGone(tx: Tx, stream: PulledStream, vanished: readonly VanishedKey[]): Promise<void> {
  const { keep, mark } = vanishStatements(tx, stream)
  const values = vanishParameters(vanished)
  await pipelined([
    tx.query({ name: `keep gone ${stream.name}`, text: keep, values }),
    tx.query({ name: `mark gone ${stream.name}`, text: mark, values }),
  ])
}

/** Adds the new records and replaces the changed records. Nothing is sent where one of them cannot be encoded. */
export function writeRecordChanges(tx: Tx, changes: readonly StreamChanges[]): Promise<unknown>[] {
  const copies = changes.filter(({ added }) => added.length > 0).map(toCopy)
  const statements = changes.filter(({ changed }) => changed.length > 0).flatMap((change) => replacing(tx, change))
  return [copyRows(tx, copies), ...statements.map((statement) => tx.query(statement))]
}

const toCopy = ({ stream, added }: StreamChanges): CopyCommand => ({
  statement: addStatement(stream),
  rows: addRows(stream, added),
})

function replacing(tx: Tx, { stream, changed }: StreamChanges) {
  const { keep, replace } = replaceStatements(tx, stream)
  const values = replaceParameters(stream, changed)
  return [
    { name: `keep former ${stream.name}`, text: keep, values: values.keep },
    { name: `replace ${stream.name}`, text: replace, values: values.replace },
  ]
}

/** The changes by one reading: the ends of the records that it added, and of the records that it replaced or marked gone. */
export type ChangeSummary = { readonly came: readonly number[]; readonly changed: readonly number[] }

/** Sums up the changes by stream and profile. A record without an end, of a snapshot, is older than everything. */
export function summarizeChanges(changes: readonly StreamChanges[]): Map<string, ChangeSummary> {
  const summaries = new Map<string, { came: number[]; changed: number[] }>()
  const summaryOf = (key: string) => {
    const summary = summaries.get(key) ?? { came: [], changed: [] }
    summaries.set(key, summary)
    return summary
  }
  for (const { stream, added, changed, vanished } of changes) {
    for (const { row, reading } of added) summaryOf(profileStreamKey(reading)).came.push(recordEndMs(row))
    for (const { row, reading } of changed) summaryOf(profileStreamKey(reading)).changed.push(recordEndMs(row))
    for (const { profileId, endMs } of vanished) {
      summaryOf(profileStreamKey({ profileId, stream })).changed.push(endMs ?? Number.NEGATIVE_INFINITY)
    }
  }
  return summaries
}

export const recordEndMs = ({ endMicros }: RecordRow): number =>
  endMicros === null ? Number.NEGATIVE_INFINITY : endMicros / 1000

type ComparedRow = {
  added: number[] | null
  changed: number[] | null
  vanished: VanishedKey[] | null
  suspicious: Record<string, number[]> | null
}

/** Orders records by the table's key, as far as that is cheap: neighbours in the input become neighbours on disk. */
function incomingRecordsOf(readings: readonly AdmittedReading[]): IncomingRecord[] {
  const byStart = (a: RecordRow, b: RecordRow) => (a.startMicros ?? 0) - (b.startMicros ?? 0)
  return readings
    .toSorted((a, b) => Number(a.profileId) - Number(b.profileId))
    .flatMap((reading) => reading.rows.toSorted(byStart).map((row) => ({ row, reading })))
}
