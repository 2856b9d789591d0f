import type { Socket } from 'node:net'
import type pg from 'pg'
import { writeTurnsTogether } from '../connections/write-turns-together.ts'
import { MINUTE, SECOND } from '../time/units.ts'

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
  const { stream } = (client as unknown as ClientState).connection
  stream.setTimeout(silenceMaxMs)
  stream.on('timeout', () => {
    if (isAnswerDue(client)) endSilent(client, silenceMaxMs, onSilent)
  })
}

/** The time between two probes of a server whose answer is late, and how long it may answer none of them. */
const PROBE_EVERY_MS = 5 * SECOND
const FROZEN_MAX_MS = MINUTE

export type FrozenWatch = {
  /** Whether the server answers a connection of its own. */
  readonly isAnswering: () => Promise<boolean>
  /** Called after each probe without an answer. */
  readonly onFrozen: () => void
  /** Called after each answered probe, once a statement has been silent for a minute: it works, or its process alone is frozen. */
  readonly onSlow: () => void
}

/**
 * The same for statements that may take many minutes. A server at work answers a probe. A frozen server does not: the first probe
 * without an answer is reported, and a minute of them ends the connection.
 */
export function endWhenFrozen(
  client: pg.ClientBase,
  { isAnswering, onFrozen, onSlow, silenceMaxMs }: FrozenWatch & { readonly silenceMaxMs: number },
  onSilent: () => void,
): void {
  const { stream } = (client as unknown as ClientState).connection
  const now = () => ({ bytes: stream.bytesRead + stream.bytesWritten, ms: performance.now() })
  let silent = now()
  let answeredMs = 0
  stream.setTimeout(PROBE_EVERY_MS)
  stream.on('timeout', async () => {
    if (!isAnswerDue(client)) return
    if (silent.bytes !== now().bytes) silent = { ...now(), ms: now().ms - PROBE_EVERY_MS }
    const isFrozen = !(await isAnswering())
    if (!isAnswerDue(client) || silent.bytes !== now().bytes) return
    if (isFrozen) onFrozen()
    else answeredMs = now().ms
    const silentMs = now().ms - silent.ms
    if (!isFrozen && silentMs >= FROZEN_MAX_MS) onSlow()
    const frozenMs = Math.min(silentMs, now().ms - answeredMs)
    if (silentMs < silenceMaxMs && frozenMs < FROZEN_MAX_MS) stream.setTimeout(PROBE_EVERY_MS)
    else endSilent(client, silentMs, onSilent)
  })
}

function isAnswerDue(client: pg.ClientBase): boolean {
  const { _ending, _activeQuery, _queryQueue, _sentQueryQueue } = client as unknown as ClientState
  return _ending || _activeQuery !== null || _queryQueue.length > 0 || _sentQueryQueue.length > 0
}

function endSilent(client: pg.ClientBase, silentMs: number, onSilent: () => void): void {
  const error = new ServerSilent(`Postgres has not answered for ${Math.round(silentMs / SECOND)} s`)
  ;(client as unknown as ClientState).connection.stream.destroy(error)
  onSilent()
}

/** Sends the statements of one turn of the event loop together. */
export function sendTurnsTogether(client: pg.ClientBase): void {
  writeTurnsTogether((client as unknown as ClientState).connection.stream)
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
