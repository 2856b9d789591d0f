import Cursor from 'pg-cursor'
import { MINUTE } from '../../../base/time/units.ts'
import { READING_AGE_MAX_MS } from '../../ledger/judge.ts'
import { keyColumns, type PulledStream } from '../../transfer/stream.ts'
import type { Pool } from '../postgres/warehouse-pool.ts'

export type ColumnKind = 'text' | 'number' | 'integer' | 'boolean' | 'date' | 'instant' | 'json'
export type ExportColumn = { readonly name: string; readonly kind: ColumnKind; readonly key: boolean }
/** Instants and dates as ISO text, JSON as its text, numbers as numbers. */
export type ExportCell = string | number | boolean | null
export type ExportRow = readonly ExportCell[]

const kinds: Readonly<Record<string, ColumnKind>> = {
  text: 'text',
  'double precision': 'number',
  integer: 'integer',
  boolean: 'boolean',
  date: 'date',
  'timestamp with time zone': 'instant',
  jsonb: 'json',
}

/** The columns of a stream's public view, in its order. */
export async function columnsOfView(pool: Pool, stream: PulledStream): Promise<ExportColumn[]> {
  const { rows } = await pool.query<{ name: string; type: string }>(
    `select column_name as name, data_type as type from information_schema.columns
     where table_schema = 'warehouse' and table_name = $1 order by ordinal_position`,
    [stream.table],
  )
  const keys = new Set(['external_id', ...keyColumns(stream).map(({ name }) => name)])
  return rows.map(({ name, type }) => ({ name, kind: kinds[type] ?? 'text', key: keys.has(name) }))
}

type ExportRequest = {
  readonly stream: PulledStream
  readonly columns: readonly ExportColumn[]
  /** Only rows that changed after this instant; all rows when undefined. */
  readonly since: string | undefined
  /** The last profile whose rows are exported. */
  readonly afterId: string
  /** Only records that begin in these months, the first and the last included, in UTC; all when absent. */
  readonly begin?: { readonly fromMonth: string; readonly toMonth: string } | undefined
}

/** Rows of the next profiles. `afterId` comes with the last rows of a page, when all of its profiles are exported. */
type ExportedRows = { readonly rows: readonly ExportRow[]; readonly afterId: string | undefined }

const PROFILES_PER_PAGE = 50
const ROWS_AT_ONCE = 2000

/**
 * Reads a stream's view from end to end, a page of profiles at a time by their index, each page through a cursor. Memory
 * holds one read of the cursor, however many rows there are, and no transaction is open longer than a page takes. A row that changes
 * after the start of the export is read as it is then: a bound would leave it out.
 */
export async function* readExportRows(pool: Pool, request: ExportRequest): AsyncGenerator<ExportedRows> {
  let { afterId } = request
  for (;;) {
    const { rows: profiles } = await pool.query<{ id: string; external_id: string }>(
      `select id, external_id from vitalsync.profiles where id > $1 order by id limit ${PROFILES_PER_PAGE}`,
      [afterId],
    )
    const last = profiles.at(-1)
    if (!last) return
    yield* readPage(pool, request, { names: profiles.map((profile) => profile.external_id), lastId: last.id })
    afterId = last.id
  }
}

type ProfilesPage = { readonly names: readonly string[]; readonly lastId: string }

async function* readPage(pool: Pool, request: ExportRequest, page: ProfilesPage): AsyncGenerator<ExportedRows> {
  const { stream, columns, since, begin } = request
  const keys = columns.filter(({ key }) => key).map(({ name }) => `"${name}"`)
  const text = `select ${columns.map(expressionOf).join(', ')} from warehouse.${stream.table}
    where external_id = any($1) and ($2::timestamptz is null or changed_at > $2)
    ${begin === undefined ? '' : `and ${stream.startColumn} >= $3::timestamptz and ${stream.startColumn} < $4::timestamptz + interval '1 month'`}
    order by ${keys.join(', ')}`
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    const months = begin === undefined ? [] : [firstInstantOf(begin.fromMonth), firstInstantOf(begin.toMonth)]
    const values = [page.names, since ?? null, ...months]
    const cursor = client.query(new Cursor<ExportRow>(text, values, { rowMode: 'array' }))
    for (;;) {
      const rows = await cursor.read(ROWS_AT_ONCE)
      const all = rows.length < ROWS_AT_ONCE
      yield { rows, afterId: all ? page.lastId : undefined }
      if (all) break
    }
    await cursor.close()
  } catch (error) {
    broken = error instanceof Error ? error : new Error(String(error))
    throw error
  } finally {
    client.release(broken)
  }
}

const firstInstantOf = (month: string) => `${month}-01T00:00:00Z`

/** The months, in UTC, in which records begin that changed after the instant; of all records when it is undefined. Sorted. */
export async function listMonths(pool: Pool, stream: PulledStream, since: string | undefined): Promise<string[]> {
  const { rows } = await pool.query<{ month: string }>(
    `select distinct to_char(${stream.startColumn} at time zone 'UTC', 'YYYY-MM') as month from warehouse.${stream.table}
     where $1::timestamptz is null or changed_at > $1 order by month`,
    [since ?? null],
  )
  return rows.map(({ month }) => month)
}

function expressionOf({ name, kind }: ExportColumn): string {
  const column = `"${name}"`
  if (kind === 'instant') return `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`
  return kind === 'json' || kind === 'date' ? `${column}::text` : column
}

/** Now, by the clock that orders readings. */
export async function readDatabaseNow(pool: Pool): Promise<string> {
  const { rows } = await pool.query<{ now: string }>(
    `select to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as now`,
  )
  return rows[0]?.now ?? new Date().toISOString()
}

/**
 * The instant from which an export must read that follows an export up to `upto`. A change is dated by the request that
 * read it and may be stored some time later, so the last stretch is read again: rows may come twice, none is missed.
 */
export const exportSinceWithOverlap = (upto: string): string =>
  new Date(Date.parse(upto) - READING_AGE_MAX_MS - OVERLAP_GRACE_MS).toISOString()

const OVERLAP_GRACE_MS = MINUTE
