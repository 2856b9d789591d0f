import pg from 'pg'

type CopyConnection = {
  query(text: string): void
  sendCopyFromChunk(chunk: Buffer): void
  endCopyFrom(): void
}

/** COPY from memory, as a query that the `pg` client runs like any other. */
export function copyFrom(client: pg.Client | pg.PoolClient, statement: string, data: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    let failed: Error | undefined
    const submittable = {
      submit: (connection: CopyConnection) => connection.query(statement),
      handleCopyInResponse(connection: CopyConnection) {
        connection.sendCopyFromChunk(data)
        connection.endCopyFrom()
      },
      handleCommandComplete: () => undefined,
      handleError(error: Error) {
        failed = error
      },
      handleReadyForQuery() {
        if (failed) reject(failed)
        else resolve()
      },
    }
    client.query(submittable as unknown as pg.Submittable) // its interface; the types know only `submit`
  })
}

/** One line of COPY's text format. JSON text holds no control characters, so only the backslash needs care. */
export function copyLine(cells: readonly (string | null)[]): string {
  let line = ''
  for (const cell of cells) {
    if (line !== '') line += '\t'
    if (cell === null) line += '\\N'
    else line += cell.includes('\\') ? cell.replaceAll('\\', '\\\\') : cell
  }
  return `${line}\n`
}

/** A pool that does not mind when its database is dropped under it while it says goodbye. */
export function plainPool(databaseUrl: string, connectionsMax: number): pg.Pool {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: connectionsMax })
  pool.on('error', () => undefined)
  return pool
}
