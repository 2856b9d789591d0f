import pg from 'pg'
import { isAnswering } from '../connections/connection-problem.ts'
import { connectTimeoutMsFor } from '../connections/own-server.ts'
import { MINUTE, SECOND } from '../time/units.ts'
import { destroyConnection, endWhenFrozen, endWhenSilent, onServerError, sendTurnsTogether } from './silent-server.ts'

type PostgresPoolOptions = {
  readonly databaseUrl: string
  readonly connectionsMax: number
  /** Shown by the server as `application_name`. */
  readonly name: string
  /** The server cancels a statement that takes longer. A silent server is given up a little later. */
  readonly statementTimeoutMs: number
  /** Further settings of the session. */
  readonly settings?: Readonly<Record<string, string>>
  /** Sends a statement before the former is answered. Cursors cannot be used then. */
  readonly pipeline?: boolean
  /** For a pool whose statements may take minutes: called once when the server is frozen, whose connection ends after a minute, and once for a slow statement. */
  readonly sayFrozen?: ((text: string) => void) | undefined
}

/** An attempt to connect, and the wait for a free connection of the pool. */
const CONNECT_TIMEOUT_MS = 10 * SECOND
const IDLE_TIMEOUT_MS = 30 * SECOND
/** How long a connection may be idle before TCP keepalive probes it: once a second, ten times. */
const KEEPALIVE_AFTER_MS = 10 * SECOND
/** After the server's own timeout, how long its answer may take to arrive. */
const ANSWER_DELAY_MAX_MS = 5 * SECOND

/**
 * The server's side of the same care: it ends the session of a client that holds a transaction open and says nothing, or
 * whose host is gone, so that its locks are free again.
 */
const serverSettings = {
  timezone: 'UTC',
  idle_in_transaction_session_timeout: '20s',
  tcp_keepalives_idle: '10',
  tcp_keepalives_interval: '5',
  tcp_keepalives_count: '3',
  tcp_user_timeout: '20s',
}

/** Read-only after a failover, or shutting down: each connection to this server is useless, not only the one that says so. */
const isUselessServer = (state: string) => state === '25006' || state.startsWith('57P0')

/** The texts that each output was given: a command may have several pools. */
const saidTexts = new WeakMap<object, Set<string>>()

function sayOnce(say: (text: string) => void, text: string): void {
  const said = saidTexts.get(say) ?? new Set()
  saidTexts.set(say, said)
  if (said.has(text)) return
  said.add(text)
  say(text)
}

/**
 * A pool of connections that notice a silent network. When one connection turns out to be dead, or its server to be a
 * standby, the idle connections are thrown away as well: they would be found dead one after the other.
 */
export function openPostgresPool(options: PostgresPoolOptions): pg.Pool {
  const settings = { ...serverSettings, statement_timeout: `${options.statementTimeoutMs}ms`, ...options.settings }
  const pool = new pg.Pool({
    connectionString: options.databaseUrl,
    max: options.connectionsMax,
    application_name: options.name,
    connectionTimeoutMillis: connectTimeoutMsFor(options.databaseUrl, CONNECT_TIMEOUT_MS),
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEPALIVE_AFTER_MS,
    pipeline: options.pipeline ?? false,
    options: Object.entries(settings)
      .map(([name, value]) => `-c ${name}=${value}`)
      .join(' '),
  })
  // The pool replaces a connection that the server ends while nobody uses it. Without a listener the error would end the process.
  pool.on('error', () => undefined)
  const idle = new Set<pg.PoolClient>()
  const useless = new WeakSet<pg.ClientBase>()
  const dropIdle = () => {
    for (const client of idle) destroyConnection(client)
  }
  const say = (text: string) => options.sayFrozen && sayOnce(options.sayFrozen, text)
  const frozenWatch = {
    isAnswering: () => isAnswering({ kind: 'Postgres', url: options.databaseUrl, variable: 'DATABASE_URL' }),
    onFrozen: () => say('Postgres does not answer: waiting for it, for up to a minute'),
    onSlow: () =>
      say(
        `Postgres has a statement under way for a minute: waiting for it, for up to ${Math.ceil(options.statementTimeoutMs / MINUTE)} minutes`,
      ),
  }
  pool.on('connect', (client) => {
    // The pool listens to its idle connections, and a statement reports its own error. Nobody listens to a connection that the pool
    // has removed and that is still closing: without a listener its error would end the process.
    client.on('error', () => undefined)
    sendTurnsTogether(client)
    const silenceMaxMs = options.statementTimeoutMs + ANSWER_DELAY_MAX_MS
    if (options.sayFrozen) endWhenFrozen(client, { ...frozenWatch, silenceMaxMs }, dropIdle)
    else endWhenSilent(client, silenceMaxMs, dropIdle)
    onServerError(client, (state) => {
      if (!isUselessServer(state)) return
      useless.add(client)
      dropIdle()
    })
  })
  pool.on('acquire', (client) => idle.delete(client))
  pool.on('remove', (client) => idle.delete(client))
  pool.on('release', (_error, client) => {
    // The pool removes a connection that is ending instead of lending it again.
    if (useless.has(client)) void client.end().catch(() => undefined)
    else idle.add(client)
  })
  return pool
}

/** A connection of a pool. */
type Client = { query(statement: string): Promise<unknown>; release(error?: Error): void }

/** How a transaction begins and ends. */
type Bounds = { begin(): Promise<unknown>; commit(): Promise<unknown> }

/** Commits all that `work` changes, or nothing, and gives the connection back. */
export async function inTransaction<T>(
  client: Client,
  work: () => Promise<T>,
  { begin = () => client.query('begin'), commit = () => client.query('commit') }: Partial<Bounds> = {},
): Promise<T> {
  try {
    await begin()
    const result = await work()
    await commit()
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
