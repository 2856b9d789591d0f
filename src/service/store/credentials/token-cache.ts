import { LRUCache } from 'lru-cache'
import type pg from 'pg'
import { SECOND } from '../../../base/time/units.ts'
import { findTokenOwner, type TokenOwner } from './issued-tokens.ts'
import { openRevocationListener, type RevocationListenerOptions } from './revocation-listener.ts'
import { hashSecret } from './secrets.ts'

export type TokenCache = {
  /**
   * The owner of a token, expired tokens included. A revoked token is unknown from the moment of its revocation. `beforeLookup`
   * is called where the token is not cached, and may throw.
   */
  find(secret: string, beforeLookup?: () => void): Promise<TokenOwner | undefined>
  /** Call this after every revocation by this process; the database notifies the other processes. */
  clear(): void
  close(): Promise<void>
}

type TokenCacheOptions = RevocationListenerOptions & {
  pool: pg.Pool
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
export async function openTokenCache(options: TokenCacheOptions): Promise<TokenCache> {
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

  return { find, clear, close: listener.close }
}
