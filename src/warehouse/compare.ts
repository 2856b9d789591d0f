import type { PulledStream } from '../stream.ts'
import { type Copy, copyAll } from './copy.ts'
import { sentTogether, type Tx } from './pool.ts'
import type { Row } from './rows.ts'
import {
  type Arriving,
  addRows,
  addStatement,
  compareParameters,
  compareStatement,
  type GroupedReading,
  replaceStatement,
  storeParameters,
} from './statements.ts'

export type Readings = {
  /** Nothing was ever stored for these: all they hold is new. */
  readonly first: readonly GroupedReading[]
  readonly later: readonly GroupedReading[]
}

/** What became of the records of one stream, beside those that are what they were. */
export type ComparedStream = {
  readonly stream: PulledStream
  readonly added: readonly Arriving[]
  readonly changed: readonly Arriving[]
  /** Whose records are gone, once for each record. */
  readonly vanished: readonly string[]
}

/** Marks gone what is missing, and says what is new and what has changed. */
export async function compareStream(tx: Tx, stream: PulledStream, { first, later }: Readings): Promise<ComparedStream> {
  const added = arrivingOf(first)
  if (!later.some((reading) => reading.rows.length > 0 || reading.complete)) {
    return { stream, added, changed: [], vanished: [] }
  }
  const arriving = arrivingOf(later)
  const { rows } = await tx.query<Compared>({
    name: `compare ${stream.name}`,
    text: compareStatement(stream),
    values: compareParameters(stream, arriving, later),
  })
  const chosen = (numbers: readonly number[] | null | undefined) =>
    (numbers ?? []).flatMap((number) => arriving[number - 1] ?? [])
  return {
    stream,
    added: [...added, ...chosen(rows[0]?.added)],
    changed: chosen(rows[0]?.changed),
    vanished: rows[0]?.vanished ?? [],
  }
}

/** Adds what is new and replaces what has changed. */
export async function writeRecords(tx: Tx, compared: readonly ComparedStream[]): Promise<void> {
  await sentTogether([
    copyAll(tx, compared.filter(({ added }) => added.length > 0).map(toCopy)),
    ...compared.filter(({ changed }) => changed.length > 0).map((one) => replace(tx, one)),
  ])
}

const toCopy = ({ stream, added }: ComparedStream): Copy => ({
  statement: addStatement(stream),
  rows: addRows(stream, added),
})

async function replace(tx: Tx, { stream, changed }: ComparedStream): Promise<void> {
  const values = storeParameters(stream, changed)
  await tx.query({ name: `replace ${stream.name}`, text: replaceStatement(stream), values })
}

/** How many records were written or marked gone, by stream and profile. */
export function countWritten(compared: readonly ComparedStream[]): Map<string, number> {
  const written = new Map<string, number>()
  for (const { stream, added, changed, vanished } of compared) {
    const ours = [...added, ...changed].map(({ reading }) => reading.profileId)
    for (const profileId of [...ours, ...vanished]) {
      const name = `${stream.name} ${profileId}`
      written.set(name, (written.get(name) ?? 0) + 1)
    }
  }
  return written
}

type Compared = { added: number[] | null; changed: number[] | null; vanished: string[] | null }

/** In the order of the table's key, as far as that is cheap: neighbours in the input become neighbours on disk. */
function arrivingOf(readings: readonly GroupedReading[]): Arriving[] {
  const byStart = (a: Row, b: Row) => (a.startMicros ?? 0) - (b.startMicros ?? 0)
  return readings
    .toSorted((a, b) => Number(a.profileId) - Number(b.profileId))
    .flatMap((reading) => reading.rows.toSorted(byStart).map((row) => ({ row, reading })))
}
