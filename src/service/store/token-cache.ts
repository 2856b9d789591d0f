import { LRUCache } from 'lru-cache'
import pg from 'pg'
import type { Log } from '../../log.ts'
import { hashSecret } from '../secrets.ts'
import { findTokenOwner, type TokenOwner } from './issued-tokens.ts'

export type TokenCache = {
  /** The owner of a token, expired tokens included. A revoked token is unknown from the moment of its revocation. */
  find(secret: string): Promise<TokenOwner | undefined>
  /** Call this after every revocation by this process; the database notifies the other processes. */
  clear(): void
  close(): Promise<void>
}

type TokenCacheOptions = { pool: pg.Pool; databaseUrl: string; log: Log }

const cachedTokensMax = 50_000
const reconnectDelayMs = 1_000

/**
 * Caches the owners of tokens, so that a request costs no lookup of its token.
 *
 * It caches only while it receives the notifications of revocations (LISTEN). When the listening connection is lost, the
 * cache is cleared, and each request asks the database until the connection is back. A lookup that began before a
 * revocation is not cached after it.
 */
export async function openTokenCache(options: TokenCacheOptions): Promise<TokenCache> {
  const cached = new LRUCache<string, TokenOwner>({ max: cachedTokensMax })
  let epoch = 0
  const clear = () => {
    epoch += 1
    cached.clear()
  }
  const listener = await openRevocationListener(options, clear)

  const find = async (secret: string): Promise<TokenOwner | undefined> => {
    const key = hashSecret(secret).toString('base64')
    const known = cached.get(key)
    if (known) return known
    const epochBefore = epoch
    const found = await findTokenOwner(options.pool, secret)
    if (found && listener.isListening() && epoch === epochBefore) cached.set(key, found)
    return found
  }

  return { find, clear, close: listener.close }
}

type RevocationListener = { isListening(): boolean; close(): Promise<void> }

/**
 * Calls `onChange` at every revocation, whenever the connection is lost, because revocations may be missed from then on,
 * and when it is back. Reconnects by itself.
 */
async function openRevocationListener(
  { databaseUrl, log }: TokenCacheOptions,
  onChange: () => void,
): Promise<RevocationListener> {
  let closed = false
  let listening: pg.Client | undefined
  let timer: NodeJS.Timeout | undefined

  const listen = async (): Promise<void> => {
    const client = new pg.Client({ connectionString: databaseUrl, application_name: 'vitalsync revocations' })
    let lost = false
    const lose = () => {
      // A broken connection emits several events; only the first may schedule a new connection.
      if (lost) return
      lost = true
      if (listening === client) listening = undefined
      onChange()
      if (!closed) timer = setTimeout(() => void listen(), reconnectDelayMs).unref()
    }
    client.on('notification', onChange)
    client.on('error', (error) =>
      log.warn({ code: (error as { code?: string }).code }, 'lost the LISTEN connection for revocations'),
    )
    client.once('end', lose)
    try {
      await client.connect()
      await client.query('listen service_revocations')
      onChange()
      if (!lost) listening = client
    } catch {
      // The database cannot be reached now: every token is looked up, and the connection is tried again.
      lose()
    }
    if (closed || lost) await client.end().catch(() => undefined)
  }

  const close = async () => {
    closed = true
    clearTimeout(timer)
    await listening?.end()
  }

  await listen()
  return { isListening: () => listening !== undefined, close }
}
