import type { Socket } from 'node:net'
import type pg from 'pg'

/** The fields of the driver's client that its types do not name. */
type ClientState = {
  readonly connection: { readonly stream: Socket; on(event: 'errorMessage', listener: (message: object) => void): void }
  readonly processID: number
  readonly _activeQuery: object | null
  readonly _queryQueue: readonly object[]
  readonly _sentQueryQueue: readonly object[]
  readonly _ending: boolean
}

/** The server owed an answer, and no byte came or went until the timeout: the connection counts as dead. */
class ServerSilent extends Error {
  readonly code = 'ETIMEDOUT'
}

export const isServerSilent = (error: unknown): boolean => error instanceof ServerSilent

/**
 * Ends a connection whose server stays silent although it owes an answer: a firewall, a NAT gateway or a host that lost its
 * power answers nothing, not even that the connection is gone. `silenceMaxMs` must be longer than the server's own
 * `statement_timeout`, or a statement that takes long would be taken for silence. An idle connection may be silent: TCP
 * keepalive finds out whether its peer still exists.
 */
export function endWhenSilent(client: pg.ClientBase, silenceMaxMs: number, onSilent: () => void): void {
  const state = client as unknown as ClientState
  const { stream } = state.connection
  const isAnswerDue = () =>
    state._ending || state._activeQuery !== null || state._queryQueue.length > 0 || state._sentQueryQueue.length > 0
  stream.setTimeout(silenceMaxMs)
  stream.on('timeout', () => {
    if (!isAnswerDue()) return
    stream.destroy(new ServerSilent(`Postgres has not answered for ${Math.round(silenceMaxMs / 1000)} s`))
    onSilent()
  })
}

/** The number of the process that serves a connection. */
export const processIdOf = (client: pg.ClientBase): number => (client as unknown as ClientState).processID

/** Calls back with the SQLSTATE of every error that the server reports on this connection. */
export function onServerError(client: pg.ClientBase, listener: (state: string) => void): void {
  const { connection } = client as unknown as ClientState
  connection.on('errorMessage', (message) => {
    if ('code' in message && typeof message.code === 'string') listener(message.code)
  })
}

/** Calls back with the size of everything that the server sends, before all of it has come. */
export function onBytesReceived(client: pg.ClientBase, listener: (count: number) => void): void {
  const { connection } = client as unknown as ClientState
  connection.stream.on('data', (chunk) => listener(chunk.length))
}

/** Ends the connection at once, without waiting for the server. */
export function destroyConnection(client: pg.ClientBase): void {
  const { connection } = client as unknown as ClientState
  connection.stream.destroy()
}
