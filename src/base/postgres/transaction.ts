/** A connection of a pool. */
type Client = { query(statement: string): Promise<unknown>; release(error?: Error): void }

/** Commits all that `work` changes, or nothing, and gives the connection back. */
export async function inTransaction<T>(
  client: Client,
  work: () => Promise<T>,
  begin: () => Promise<unknown> = () => client.query('begin'),
): Promise<T> {
  try {
    await begin()
    const result = await work()
    await client.query('commit')
    client.release()
    return result
  } catch (error) {
    await rollBack(client)
    throw error
  }
}

/** Takes back what the transaction changed, and gives the connection back. The pool discards a connection whose rollback fails. */
async function rollBack(client: Client): Promise<void> {
  await client.query('rollback').then(
    () => client.release(),
    (error: Error) => client.release(error),
  )
}
