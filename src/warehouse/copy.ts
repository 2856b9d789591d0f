import type { Submittable } from 'pg'
import type { Tx } from './pool.ts'

/** What of the driver's connection COPY needs. The driver speaks this part of the protocol, but gives it no name. */
type CopyConnection = {
  query(text: string): void
  sendCopyFromChunk(chunk: Buffer): void
  endCopyFrom(): void
}

/**
 * Runs a `copy … from stdin` with data from memory, in the transaction it is given. Postgres writes the rows of a COPY
 * page by page instead of one by one.
 */
export function copyFrom(tx: Tx, statement: string, data: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const copy = {
      submit: (connection: CopyConnection) => connection.query(statement),
      handleCopyInResponse(connection: CopyConnection) {
        connection.sendCopyFromChunk(data)
        connection.endCopyFrom()
      },
      handleCommandComplete: () => undefined,
      handleError: reject,
      handleReadyForQuery: () => resolve(),
    }
    tx.query(copy as unknown as Submittable) // its types know of `submit` alone
  })
}
