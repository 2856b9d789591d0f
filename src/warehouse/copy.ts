import type { Socket } from 'node:net'
import pg from 'pg'
import type { LentBytes } from './binary-arrays.ts'
import type { Tx } from './pool.ts'

/** A `copy … from stdin`, and what to copy. */
export type Copy = { readonly statement: string; readonly rows: LentBytes }

/** What of the driver's connection COPY needs. The driver speaks this part of the protocol, but gives it no name. */
type CopyConnection = {
  readonly stream: Socket
  query(text: string): void
  endCopyFrom(): void
}

/**
 * Copies rows from memory into one table or several, in the transaction it is given. Postgres writes the rows of a COPY
 * page by page instead of one by one. The memory is given back when the socket is done with it.
 */
export async function copyAll(tx: Tx, copies: readonly Copy[]): Promise<void> {
  if (copies.length === 0) return
  await new Promise<void>((resolve, reject) => {
    tx.query(new CopyQuery(copies, (error) => (error ? reject(error) : resolve())))
  })
}

/**
 * Sends everything at once, without waiting to be asked for it: a busy event loop takes its time for every answer, and
 * there would be two for each table. After a statement that fails Postgres skips what still comes, as its protocol says.
 */
class CopyQuery extends pg.Query {
  override readonly submit: (connection: object) => void

  constructor(copies: readonly Copy[], done: (error: Error | undefined) => void) {
    const text = copies.map(({ statement }) => statement).join(';\n')
    super(text, done)
    this.submit = (given) => {
      const connection = given as CopyConnection
      connection.stream.cork()
      connection.query(text)
      for (const { rows } of copies) {
        // The driver's own way copies the data once more into a buffer of its own.
        connection.stream.write(headOf(rows.data))
        connection.stream.write(rows.data, rows.giveBack)
        connection.endCopyFrom()
      }
      connection.stream.uncork()
    }
  }

  handleCopyInResponse(): void {
    // The driver's own answer would be that there is nothing to copy.
  }
}

/** What goes before the data of a CopyData message: its letter, and its length with those four bytes. */
function headOf(data: Buffer): Buffer {
  const head = Buffer.from('d\0\0\0\0', 'latin1')
  head.writeUInt32BE(data.length + 4, 1)
  return head
}
