import type { Socket } from 'node:net'
import type { Submittable } from 'pg'
import type { LentBytes } from './binary-arrays.ts'
import type { Tx } from './pool.ts'

/** What of the driver's connection COPY needs. The driver speaks this part of the protocol, but gives it no name. */
type CopyConnection = {
  readonly stream: Socket
  query(text: string): void
  endCopyFrom(): void
}

/**
 * Runs a `copy … from stdin` with data from memory, in the transaction it is given. Postgres writes the rows of a COPY
 * page by page instead of one by one. The memory is given back when the socket is done with it.
 */
export function copyFrom(tx: Tx, statement: string, { data, giveBack }: LentBytes): Promise<void> {
  return new Promise((resolve, reject) => {
    const copy = {
      submit: (connection: CopyConnection) => connection.query(statement),
      handleCopyInResponse(connection: CopyConnection) {
        // The driver's own way copies the data once more into a buffer of its own.
        connection.stream.cork()
        connection.stream.write(headOf(data))
        connection.stream.write(data, giveBack)
        connection.endCopyFrom()
        connection.stream.uncork()
      },
      handleCommandComplete: () => undefined,
      handleError: reject,
      handleReadyForQuery: () => resolve(),
    }
    tx.query(copy as unknown as Submittable) // its types know of `submit` alone
  })
}

/** What goes before the data of a CopyData message: its letter, and its length with those four bytes. */
function headOf(data: Buffer): Buffer {
  const head = Buffer.from('d\0\0\0\0', 'latin1')
  head.writeUInt32BE(data.length + 4, 1)
  return head
}
