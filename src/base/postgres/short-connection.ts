import pg from 'pg'
import { endsWithin } from '../sleep.ts'
import { SECOND } from '../time/units.ts'
import { destroyConnection, endWhenSilent } from './silent-server.ts'

type ShortConnection = Omit<pg.ClientConfig, 'connectionTimeoutMillis'> & {
  readonly connectMaxMs: number
  /** How long the server may be silent while it owes an answer. */
  readonly answerMaxMs: number
}

/** How long a server may take to end a connection. */
const END_MAX_MS = 5 * SECOND

/**
 * Runs a few short statements on a connection of their own. Each of its waits ends: to connect, for an answer, and for the
 * end of the connection. A server that stands still, or a network that swallows, would hold up a start for ever.
 */
export async function withConnection<T>(
  { connectMaxMs, answerMaxMs, ...config }: ShortConnection,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ ...config, connectionTimeoutMillis: connectMaxMs })
  let lost: Error | undefined
  client.on('error', (error) => {
    lost ??= error
  })
  try {
    await client.connect()
    endWhenSilent(client, answerMaxMs, () => undefined)
    return await work(client)
  } catch (error) {
    // A library that rolls back on the lost connection would report that instead.
    throw lost ?? error
  } finally {
    await endConnection(client)
  }
}

/** Ends a connection that may be lost already, or was never made. A server that does not answer is not waited for. */
export async function endConnection(client: pg.Client): Promise<void> {
  if (!(await endsWithin(client.end(), END_MAX_MS))) destroyConnection(client)
}
