import { pathToFileURL } from 'node:url'
import { UsageProblem } from '../../../base/errors.ts'
import type { ExportFile, FileHead } from '../export-format.ts'
import { copyPrivately } from '../private-copies.ts'
import type { SourceRow } from '../small-files.ts'

/** The rows of a table, each with those of these columns that it has; of a child with columns of its parent. */
export type TableQuery = {
  readonly table: string
  readonly columns: readonly string[]
  /** Columns with bytes, which are read as hexadecimal text: an object for the bytes of each row costs more. */
  readonly bytes?: readonly string[]
  readonly parent?: { readonly table: string; readonly keys: readonly string[]; readonly columns: readonly string[] }
}

export type SqliteTables = {
  has(table: string): boolean
  rows(query: TableQuery): Iterable<SourceRow>
  close(): Promise<void>
}

const DATABASE_BYTES_MAX = 4 * 1024 ** 3

export const isSqlite = ({ bytes }: FileHead): boolean =>
  bytes.subarray(0, 16).equals(Buffer.from('SQLite format 3\u0000', 'latin1'))

/**
 * Opens a database that stands in a file or in a zip. SQLite reads only files, so it is copied into a private folder, which is
 * removed as soon as the copy is open, where the system allows that. The database may be hostile: only plain columns of plain tables are read, for views, virtual tables and computed columns run code of it.
 */
export async function openSqliteTables(file: ExportFile): Promise<SqliteTables> {
  const { DatabaseSync } = await import('node:sqlite').catch((cause: unknown) => {
    throw new UsageProblem(`read ${file.name}: a database needs Node 22.13 or newer`, { cause })
  })
  const { path, remove } = await copyPrivately(file, DATABASE_BYTES_MAX)
  try {
    // Immutable: a database in WAL mode is read without files beside it.
    const database = new DatabaseSync(new URL(`${pathToFileURL(path)}?immutable=1`), { readOnly: true })
    database.exec(
      'pragma trusted_schema = off; pragma cell_size_check = on; pragma mmap_size = 0; pragma temp_store = memory',
    )
    const columnsOf = plainColumns(database)
    await remove().catch(() => undefined)
    return {
      has: (table) => columnsOf(table).size > 0,
      rows: (query) => rowsOf(database, query, columnsOf),
      async close() {
        database.close()
        await remove()
      },
    }
  } catch (error) {
    await remove()
    throw error
  }
}

type Database = import('node:sqlite').DatabaseSync

/** `hidden` is 0 for a column that is stored, and something else for one that is computed. */
function plainColumns(database: Database): (table: string) => ReadonlySet<string> {
  const tables = database.prepare(
    "select name from sqlite_schema where type = 'table' and name = ? and sql not like 'create virtual%'",
  )
  const columns = database.prepare('select name from pragma_table_xinfo(?) where hidden = 0')
  const known = new Map<string, ReadonlySet<string>>()
  return (table) => {
    const found =
      known.get(table) ?? new Set(tables.get(table) ? columns.all(table).map(({ name }) => String(name)) : [])
    known.set(table, found)
    return found
  }
}

/** The names of tables and columns are those of our queries, and equal the names in the database. */
function rowsOf(
  database: Database,
  { table, columns, bytes = [], parent }: TableQuery,
  columnsOf: (table: string) => ReadonlySet<string>,
): Iterable<SourceRow> {
  const stored = columnsOf(table)
  const selected = [
    ...columns.filter((name) => stored.has(name)).map((name) => `c."${name}"`),
    ...bytes.filter((name) => stored.has(name)).map(asHex),
  ]
  const key = parent?.keys.find((name) => stored.has(name))
  const above = parent && key !== undefined ? columnsOf(parent.table) : new Set<string>()
  const shared = parent?.columns.filter((name) => above.has(name)).map((name) => `p."${name}"`) ?? []
  const isJoined = parent !== undefined && above.has('row_id')
  const join = isJoined ? ` join "${parent.table}" p on p.row_id = c."${key}"` : ''
  const list = isJoined ? [...selected, ...shared] : selected
  return list.length > 0 ? database.prepare(`select ${list.join(', ')} from "${table}" c${join}`).iterate() : []
}

const asHex = (name: string) => `case typeof(c."${name}") when 'blob' then lower(hex(c."${name}")) end "${name}"`
