import Cursor from 'pg-cursor'
import { READING_AGE_MAX_MS } from '../planner.ts'
import { keyColumns, type PulledStream } from '../stream.ts'
import type { Pool } from './pool.ts'

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

export type Extract = {
  readonly stream: PulledStream
  readonly columns: readonly ExportColumn[]
  /** Only what changed after this instant; everything when absent. */
  readonly since: string | undefined
  readonly upto: string
  /** The last profile that is done with. */
  readonly afterId: string
}

/** Rows of the next profiles; `afterId` comes with the last rows of a page, when all of its profiles are done with. */
export type ExtractedRows = { readonly rows: readonly ExportRow[]; readonly afterId: string | undefined }

const PROFILES_PER_PAGE = 50
const ROWS_AT_ONCE = 2000

/**
 * Reads a stream's view from end to end, a few people at a time by their index, each page through a cursor: what is held
 * is one read of it, however many rows there are, and no transaction is open longer than a page takes.
 */
export async function* extractRows(pool: Pool, extract: Extract): AsyncGenerator<ExtractedRows> {
  let { afterId } = extract
  for (;;) {
    const { rows: people } = await pool.query<{ id: string; external_id: string }>(
      `select id, external_id from vitalsync.profiles where id > $1 order by id limit ${PROFILES_PER_PAGE}`,
      [afterId],
    )
    const last = people.at(-1)
    if (!last) return
    yield* readPage(pool, extract, { names: people.map((person) => person.external_id), lastId: last.id })
    afterId = last.id
  }
}

type Page = { readonly names: readonly string[]; readonly lastId: string }

async function* readPage(pool: Pool, extract: Extract, page: Page): AsyncGenerator<ExtractedRows> {
  const { stream, columns, since, upto } = extract
  const keys = columns.filter(({ key }) => key).map(({ name }) => `"${name}"`)
  const text = `select ${columns.map(expressionOf).join(', ')} from warehouse.${stream.table}
    where external_id = any($1) and ($2::timestamptz is null or changed_at > $2) and changed_at <= $3
    order by ${keys.join(', ')}`
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    const cursor = client.query(new Cursor<ExportRow>(text, [page.names, since ?? null, upto], { rowMode: 'array' }))
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

function expressionOf({ name, kind }: ExportColumn): string {
  const column = `"${name}"`
  if (kind === 'instant') return `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`
  return kind === 'json' || kind === 'date' ? `${column}::text` : column
}

/** Now, by the clock that orders readings. */
export async function readNow(pool: Pool): Promise<string> {
  const { rows } = await pool.query<{ now: string }>(
    `select to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as now`,
  )
  return rows[0]?.now ?? new Date().toISOString()
}

/**
 * From where an export that follows one up to `upto` must read. A change is dated by the request that brought it and may
 * be stored some time later, so the last stretch is read again: rows may come twice, none is missed.
 */
export const overlapBefore = (upto: string): string =>
  new Date(Date.parse(upto) - READING_AGE_MAX_MS - OVERLAP_GRACE_MS).toISOString()

const OVERLAP_GRACE_MS = 60_000
