import { randomUUID } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import pg from 'pg'
import type { Log } from '../../../base/log.ts'
import { destroyConnection } from '../../../base/postgres/silent-server.ts'
import { SECOND } from '../../../base/time/units.ts'
import type { Queryable } from '../service-pool.ts'
import { findTokenOwner, type TokenOwner } from './issued-tokens.ts'
import { hashSecret } from './secrets.ts'

export type TokenCache = Awaited<ReturnType<typeof openTokenCache>>

type TokenCacheOptions = RevocationListenerOptions & {
  pool: Queryable
  /** How long a token's owner is cached. Set by tests only. */
  cachedMs?: number
}

const cachedTokensMax = 50_000
/** How long a revoked token may stay in the cache, whatever else fails. */
const cachedDefaultMs = 30 * SECOND

/**
 * Caches the owners of tokens, so that a request costs no lookup of its token.
 *
 * It caches only while it receives the notifications of revocations (LISTEN). When the listening connection is lost, or its
 * heartbeat does not come back, the cache is cleared, and each request asks the database until the connection is back. A
 * lookup that began before a revocation is not cached after it.
 */
export async function openTokenCache(options: TokenCacheOptions) {
  const cached = new LRUCache<string, TokenOwner>({
    max: cachedTokensMax,
    ttl: options.cachedMs ?? cachedDefaultMs,
  })
  let epoch = 0
  const clear = () => {
    epoch += 1
    cached.clear()
  }
  const listener = await openRevocationListener(options, clear)

  const find = async (secret: string, beforeLookup?: () => void): Promise<TokenOwner | undefined> => {
    const key = hashSecret(secret).toString('base64')
    const known = cached.get(key)
    if (known) return known
    beforeLookup?.()
    const epochBefore = epoch
    const found = await findTokenOwner(options.pool, secret)
    if (found && listener.isListening() && epoch === epochBefore) cached.set(key, found)
    return found
  }

  return {
    /**
     * The owner of a token, expired tokens included. A revoked token is unknown from the moment of its revocation. `beforeLookup`
     * is called where the token is not cached, and may throw.
     */
    find,
    /** Call this after every revocation by this process; the database notifies the other processes. */
    clear,
    close: listener.close,
  }
}

type RevocationListenerOptions = {
  databaseUrl: string
  log: Log
  /** How often a heartbeat is sent, and how long it may take to come back. Set by tests only. */
  heartbeatMs?: number
}

const reconnectDelayMs = 1_000
const heartbeatDefaultMs = 5 * SECOND

/**
 * Calls `onChange` at every revocation, whenever the line is lost, because revocations may be missed from then on, and when
 * it is back. Reconnects automatically.
 *
 * A line that is silent is not alive: it sends itself a notification and waits for it. So a half-open connection, or a
 * pooler in between that swallows notifications, is noticed within two heartbeats.
 */
async function openRevocationListener(
  { databaseUrl, log, heartbeatMs = heartbeatDefaultMs }: RevocationListenerOptions,
  onChange: () => void,
) {
  let closed = false
  let timer: NodeJS.Timeout | undefined
  let line: Line | undefined

  const connect = async (): Promise<void> => {
    const opened = createLine({ databaseUrl, heartbeatMs, onChange, onLost: lose })
    line = opened
    await opened.open()
  }
  const lose = (reason: string, code?: string) => {
    onChange()
    if (closed) return
    log.warn({ reason, code }, 'lost the LISTEN connection for revocations')
    timer = setTimeout(() => void connect(), reconnectDelayMs).unref()
  }

  await connect()
  return {
    /** Whether revocations by other processes are received now: the last heartbeat came back over this line. */
    isListening: () => line?.isAlive() ?? false,
    close: async () => {
      closed = true
      clearTimeout(timer)
      line?.end()
    },
  }
}

type Line = { open(): Promise<void>; isAlive(): boolean; end(): void }

type LineOptions = {
  databaseUrl: string
  heartbeatMs: number
  onChange(): void
  onLost(reason: string, code?: string): void
}

/** One connection that listens. It is lost once, and not used again after that. */
function createLine({ databaseUrl, heartbeatMs, onChange, onLost }: LineOptions): Line {
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: 'vitalsync revocations',
    connectionTimeoutMillis: heartbeatMs,
    keepAlive: true,
  })
  const heartbeatChannel = `service_heartbeat_${randomUUID().replaceAll('-', '')}`
  let state: 'opening' | 'alive' | 'ended' = 'opening'
  let pulse: NodeJS.Timeout | undefined
  let returned: (() => void) | undefined

  const end = () => {
    state = 'ended'
    clearInterval(pulse)
    client.end().catch(() => undefined) // a silent server does not answer a clean end of the connection
    destroyConnection(client)
  }
  const lose = (reason: string, code?: string) => {
    if (state === 'ended') return // a broken connection emits several events
    end()
    onLost(reason, code)
  }
  /** Sends a notification to this line itself, over this line. */
  const beat = async () => {
    const back = new Promise<boolean>((resolve) => {
      returned = () => resolve(true)
      setTimeout(() => resolve(false), heartbeatMs).unref()
    })
    client.query('select pg_notify($1, null)', [heartbeatChannel]).catch(() => undefined) // 'end' or the timeout follows
    if (!(await back)) lose('its heartbeat did not come back')
  }

  client.on('notification', ({ channel }) => (channel === heartbeatChannel ? returned?.() : onChange()))
  client.on('error', (error) => lose('connection error', (error as { code?: string }).code))
  client.once('end', () => lose('closed by the database'))
  return {
    isAlive: () => state === 'alive',
    end,
    open: async () => {
      try {
        await client.connect()
        await client.query(`listen service_revocations; listen ${heartbeatChannel}`)
        await beat()
      } catch (error) {
        // The database cannot be reached now: every token is looked up, and the connection is tried again.
        return lose('not connected', (error as { code?: string }).code)
      }
      if (state === 'ended') return
      state = 'alive'
      onChange()
      pulse = setInterval(() => void beat(), heartbeatMs)
      pulse.unref()
    },
  }
}
