import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { createLog } from '../../src/base/log.ts'
import { issueAccountToken } from '../../src/service/store/credentials/issued-tokens.ts'
import { openTokenCache } from '../../src/service/store/credentials/token-cache.ts'
import { createServicePool, type ServicePool } from '../../src/service/store/service-pool.ts'
import { soon, test } from '../support/fixtures.ts'
import { type SilentProxy, startSilentProxy } from '../support/silent-proxy.ts'

const log = createLog({ level: 'silent' })

/** A cache of tokens whose listening connection goes through a proxy, and a token that it has cached. */
async function withCachedToken(
  databaseUrl: string,
  limits: { heartbeatMs: number; cachedMs: number },
  use: (world: { pool: ServicePool; proxy: SilentProxy; isKnown(): Promise<boolean> }) => Promise<void>,
): Promise<void> {
  const pool = createServicePool({ databaseUrl, log, connectionsMax: 2, statementTimeoutMs: 20_000 })
  const proxy = await startSilentProxy(databaseUrl)
  const cache = await openTokenCache({ pool, databaseUrl: proxy.url, log, ...limits })
  try {
    const accountId = randomUUID()
    await pool.query('insert into service.accounts values ($1, $2, now())', [accountId, accountId])
    await pool.query(
      `insert into service.api_keys (public_id, account_id, kind, secret_hash, created_at) values ('key', $1, 'client', '', now())`,
      [accountId],
    )
    const token = { accountId, keyId: 'key', nowMs: Date.now(), lifetimeSeconds: 3600 }
    const secret = await issueAccountToken(pool, token)
    const isKnown = async () => (await cache.find(secret)) !== undefined
    expect(await isKnown()).toBe(true)
    await use({ pool, proxy, isKnown })
  } finally {
    await cache.close()
    await proxy.close()
    await pool.end()
  }
}

const revoke = `update service.tokens set revoked_at = now()`

test('a revocation that a silent line swallows is noticed by the heartbeat', async ({ serviceUrl }) => {
  await withCachedToken(serviceUrl, { heartbeatMs: 500, cachedMs: 3_600_000 }, async ({ pool, proxy, isKnown }) => {
    proxy.silence('to-client')
    await pool.query(revoke)
    await pool.query('notify service_revocations')

    await expect.poll(isKnown, soon).toBe(false)
  })
})

test('while the listening connection is down no token is cached, and after that revocations arrive again', async ({
  serviceUrl,
}) => {
  await withCachedToken(serviceUrl, { heartbeatMs: 500, cachedMs: 3_600_000 }, async ({ pool, proxy, isKnown }) => {
    proxy.silence('to-client', 'to-server')
    await pool.query(revoke)
    await expect.poll(isKnown, soon).toBe(false)
    await pool.query('update service.tokens set revoked_at = null')
    expect(await isKnown()).toBe(true)
    await pool.query(revoke)
    expect(await isKnown()).toBe(false)

    proxy.restore()
    // Cached again: without a notification a revocation is not noticed, with one it is.
    const isCached = async () => {
      await pool.query('update service.tokens set revoked_at = null')
      await isKnown()
      await pool.query(revoke)
      return isKnown()
    }
    await expect.poll(isCached, soon).toBe(true)
    await pool.query('notify service_revocations')
    await expect.poll(isKnown, soon).toBe(false)
  })
})

test('whatever fails, a cached token ages out', async ({ serviceUrl }) => {
  await withCachedToken(serviceUrl, { heartbeatMs: 60_000, cachedMs: 1000 }, async ({ pool, isKnown }) => {
    await pool.query(revoke) // and nobody is notified

    await expect.poll(isKnown, soon).toBe(false)
  })
})
