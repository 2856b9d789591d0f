import { mkdir, readdir, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type LockWords, lockFolder } from '../../base/files/folder-lock.ts'
import type { PulledStream } from '../transfer/stream.ts'
import type { Pool } from '../warehouse/postgres/warehouse-pool.ts'
import {
  columnsOfView,
  type ExportColumn,
  type ExportRow,
  listMonths,
  readDatabaseNow,
  readExportRows,
} from '../warehouse/reports/export-rows.ts'
import type { RowEncoder } from './encoder.ts'
import { type ExportOutput, nothingWritten, openFileOutput } from './output.ts'
import { createParquetOf } from './parquet.ts'
import type { ExportedStreams } from './write-streams.ts'

type LakeExport = {
  readonly pool: Pool
  readonly streams: readonly PulledStream[]
  readonly folder: string
  /** Only the months in which a record changed after this instant are written; all months when undefined. */
  readonly since: Date | undefined
  readonly signal: AbortSignal
  onProgress(stream: string, rows: number): void
}

/** How many files are open at once. More months take another pass over the rows. */
const MONTHS_PER_PASS = 120
/** The rows that wait in memory for their row group, over all open files. */
const ROWS_WAITING_MAX = 60_000
const ROWS_PER_GROUP_MAX = 10_000

const FILE = 'data.parquet'
const WHOLE = ''

/**
 * Writes a folder that readers of Parquet take as one table per stream: `<stream>/month=2026-11/data.parquet` by the month, in
 * UTC, in which a record begins, and `<stream>/data.parquet` for a stream without dates. Each file is written whole and
 * replaces its predecessor in one step. Without `since`, files of months that have no record any more are removed.
 */
export async function writeLake(work: LakeExport): Promise<ExportedStreams> {
  await mkdir(work.folder, { recursive: true, mode: 0o700 })
  const unlock = await lockFolder(work.folder, lake)
  try {
    return await writeStreamsByMonth(work)
  } finally {
    await unlock()
  }
}

/** Two exports at once would write the same files. */
const lake: LockWords = {
  kind: 'lake',
  inUse: 'another export writes it',
  inUseHint: 'Let it end first, or choose another folder with --output.',
  setting: '--output',
}

async function writeStreamsByMonth(work: LakeExport): Promise<ExportedStreams> {
  const upto = await readDatabaseNow(work.pool)
  const since = work.since?.toISOString()
  const written: Array<{ stream: string; rows: number }> = []
  for (const stream of work.streams) {
    if (work.signal.aborted) break
    written.push({ stream: stream.name, rows: await writeStreamByMonth({ ...work, stream, changedSince: since }) })
  }
  return { streams: written, since, upto }
}

type StreamWork = LakeExport & { readonly stream: PulledStream; readonly changedSince: string | undefined }

async function writeStreamByMonth(work: StreamWork): Promise<number> {
  const { pool, stream, folder, changedSince, signal } = work
  const columns = await columnsOfView(pool, stream)
  const months = stream.startColumn === undefined ? [WHOLE] : await listMonths(pool, stream, changedSince)
  let count = 0
  for (let at = 0; at < months.length && !signal.aborted; at += MONTHS_PER_PASS) {
    count += await writeMonths({ ...work, columns, before: count }, months.slice(at, at + MONTHS_PER_PASS))
  }
  if (changedSince === undefined && !signal.aborted)
    await removeMonthsExcept(join(folder, stream.name), new Set(months))
  return count
}

type PassWork = StreamWork & { readonly columns: readonly ExportColumn[]; readonly before: number }

/** One pass over the rows of these months, with a file of each month open. */
async function writeMonths(work: PassWork, months: readonly string[]): Promise<number> {
  const { pool, stream, columns, signal } = work
  const files = await openMonths(work, months)
  const monthAt = columns.findIndex(({ name }) => name === stream.startColumn)
  let count = 0
  let isComplete = false
  try {
    const request = { stream, columns, since: undefined, afterId: '0', begin: spanOf(months) }
    for await (const { rows } of readExportRows(pool, request)) {
      for (const [month, some] of Map.groupBy(rows, (row) => monthOf(row, monthAt))) {
        const file = files.get(month)
        if (file === undefined) continue // the month came into being after the export began, or has not changed
        count += some.length
        await file.output.write(file.encoder.rows(some))
      }
      work.onProgress(stream.name, work.before + count)
      if (signal.aborted) return count
    }
    for (const { encoder, output } of files.values()) await output.write(encoder.tail())
    isComplete = true
    return count
  } finally {
    for (const { output } of files.values()) await output.close({ isComplete })
  }
}

type MonthFile = { readonly encoder: RowEncoder; readonly output: ExportOutput }

async function openMonths(work: PassWork, months: readonly string[]): Promise<Map<string, MonthFile>> {
  const { folder, stream, columns } = work
  const rowsPerGroup = Math.min(ROWS_PER_GROUP_MAX, Math.floor(ROWS_WAITING_MAX / months.length))
  const files = new Map<string, MonthFile>()
  for (const month of months) {
    const path = join(folder, stream.name, ...(month === WHOLE ? [] : [`month=${month}`]))
    await mkdir(path, { recursive: true, mode: 0o700 })
    const output = await openFileOutput(join(path, FILE), { kept: nothingWritten, isInvalidUntilComplete: true })
    const encoder = createParquetOf(rowsPerGroup)
    await output.write(encoder.head(stream.name, columns))
    files.set(month, { encoder, output })
  }
  return files
}

/** Instants are exported as ISO text in UTC. */
const monthOf = (row: ExportRow, monthAt: number): string =>
  monthAt < 0 ? WHOLE : String(row[monthAt]).slice(0, 'YYYY-MM'.length)

/** From the first of the months to the last one, both included; the months are sorted. Undefined: a stream without dates. */
function spanOf(months: readonly string[]): { readonly fromMonth: string; readonly toMonth: string } | undefined {
  const [fromMonth = WHOLE, toMonth = WHOLE] = [months[0], months.at(-1)]
  return fromMonth === WHOLE ? undefined : { fromMonth, toMonth }
}

/** Only files that an export wrote are removed; a folder with anything else in it stays. */
async function removeMonthsExcept(folder: string, months: ReadonlySet<string>): Promise<void> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  for (const name of names) {
    const [, month] = /^month=(-?\d{4,6}-\d\d)$/.exec(name) ?? []
    if (month === undefined || months.has(month)) continue
    await rm(join(folder, name, FILE), { force: true })
    await rmdir(join(folder, name)).catch(() => undefined) // it holds other files
  }
}
