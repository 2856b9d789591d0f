import type { Socket } from 'node:net'
import pg from 'pg'
import type { PooledBytes } from './binary-format.ts'
import type { Tx } from './warehouse-pool.ts'

/** A statement `copy … from stdin`, and its rows. */
export type CopyCommand = { readonly statement: string; readonly rows: PooledBytes }

/** The part of the driver's connection that COPY needs. The driver has these methods, but its types do not name them. */
type CopyConnection = {
  readonly stream: Socket
  query(text: string): void
  endCopyFrom(): void
}

/**
 * Copies rows from memory into one table or several, within the transaction. Postgres writes the rows of a COPY page by
 * page instead of one by one. The buffers are released when the socket has sent them.
 */
export async function copyRows(tx: Tx, copies: readonly CopyCommand[]): Promise<void> {
  if (copies.length === 0) return
  await new Promise<void>((resolve, reject) => {
    const text = copies.map(({ statement }) => statement).join(';\n')
    tx.query(new CopyQuery({ text, copies }, (error) => (error ? reject(error) : resolve())))
  })
}

/**
 * Sends the statements and all rows at once, without waiting for Postgres's CopyInResponse: a busy event loop is slow to
 * handle an answer, and there would be two answers for each table. After a statement that fails Postgres discards the rest,
 * as its protocol says.
 */
class CopyQuery extends pg.Query {
  override readonly submit: (connection: object) => void

  constructor(
    { text, copies }: { readonly text: string; readonly copies: readonly CopyCommand[] },
    done: (error: Error | undefined) => void,
  ) {
    super(text, done)
    this.submit = (given) => {
      const connection = given as CopyConnection
      connection.stream.cork()
      connection.query(text)
      for (const { rows } of copies) {
        // The driver's own sendCopyFromChunk would copy the data once more.
        connection.stream.write(copyDataHeader(rows.data))
        connection.stream.write(rows.data, rows.release)
        connection.endCopyFrom()
      }
      connection.stream.uncork()
    }
  }

  handleCopyInResponse(): void {
    // The driver's own handler would answer that there is nothing to copy.
  }
}

/** The header of a CopyData message: its letter, and its length, which includes the four bytes of the length. */
function copyDataHeader(data: Buffer): Buffer {
  const head = Buffer.from('d\0\0\0\0', 'latin1')
  head.writeUInt32BE(data.length + 4, 1)
  return head
}
