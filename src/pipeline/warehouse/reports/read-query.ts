import Cursor from 'pg-cursor'
import { Problem } from '../../../base/errors.ts'
import { rollBack } from '../../../base/postgres/transaction.ts'
import type { Pool } from '../postgres/warehouse-pool.ts'
import { beginAsReader } from './reader-role.ts'

type QueryCell = string | number | boolean | null | object
export type QueryRows = { readonly columns: readonly string[]; readonly rows: ReadonlyArray<readonly QueryCell[]> }

const ROWS_AT_ONCE = 1000

/**
 * Runs one statement as the reader role, which may change nothing, and gives its rows in portions. Dates and instants stay
 * texts as Postgres writes them, in UTC; numbers become numbers where none loses a digit.
 */
export async function* readQuery(pool: Pool, text: string): AsyncGenerator<QueryRows> {
  const client = await pool.connect()
  try {
    await beginAsReader(client)
    await client.query("set local time zone 'UTC'")
    const cursor = client.query(new Cursor<QueryCell[]>(text, [], { rowMode: 'array', types: { getTypeParser } }))
    try {
      for (;;) {
        const { rows, columns } = await readPortion(cursor)
        yield { columns, rows }
        if (rows.length < ROWS_AT_ONCE) return
      }
    } finally {
      // A caller who takes no more rows leaves the cursor open, and the connection answers nothing else until it is closed.
      await cursor.close()
    }
  } finally {
    await rollBack(client)
  }
}

/** The message of Postgres quotes at most the user's own statement. */
function readPortion(cursor: Cursor<QueryCell[]>): Promise<{ rows: QueryCell[][]; columns: string[] }> {
  return new Promise((resolve, reject) => {
    cursor.read(ROWS_AT_ONCE, (cause, rows, result) => {
      if (cause)
        reject(new Problem(`run the query: ${cause.message}`, { hint: 'The views: docs/warehouse.md.', cause }))
      else resolve({ rows, columns: result.fields.map(({ name }) => name) })
    })
  })
}

const toNumber = (text: string): QueryCell => (Number.isFinite(Number(text)) ? Number(text) : text)
const toInteger = (text: string): QueryCell => (Number.isSafeInteger(Number(text)) ? Number(text) : text)
const parsers: Readonly<Record<number, (text: string) => QueryCell>> = {
  16: (text) => text === 't',
  20: toInteger,
  21: toInteger,
  23: toInteger,
  700: toNumber,
  701: toNumber,
  114: (text) => JSON.parse(text),
  3802: (text) => JSON.parse(text),
}

/** By the type's oid: boolean, the integers, the floats, json and jsonb; everything else stays text. */
const getTypeParser = (oid: number) => parsers[oid] ?? ((text: string) => text)
