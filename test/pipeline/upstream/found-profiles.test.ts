import { expect, onTestFinished, test } from 'vitest'
import { openUpstream } from '../../../src/pipeline/upstream/client.ts'
import type { RateLimiter } from '../../../src/pipeline/upstream/limits/rate-limiter.ts'
import { createInMemoryTokenStore } from '../../../src/pipeline/upstream/tokens/in-memory-token-store.ts'
import { http, startRawServer } from '../../support/raw-server.ts'
import { openTestMeter } from '../../support/test-meter.ts'
import { nightlyCall, sleepFor } from '../../support/test-upstream.ts'

const unlimited: RateLimiter = {
  acquire: () => undefined,
  release: () => undefined,
  state: () => ({
    ...{ requestsPerSecond: 10, inFlightMax: 1, inFlight: 0, memberCount: 1, pausedUntilMs: 0 },
    waiting: { nightly: 0, manual: 0, backfill: 0 },
  }),
  close: async () => undefined,
}

/** The profiles that a search finds where upstream has this one page, and the metric of those that cannot be used. */
async function search(page: readonly object[]) {
  const { points, close } = openTestMeter()
  const server = await startRawServer(({ head, socket }) => {
    const isToken = head.includes('/oauth/account/token')
    socket.write(
      http(
        200,
        isToken
          ? '{"accountToken":"t","expiresIn":86400}'
          : JSON.stringify({ items: head.includes('currentPage=1&') ? page : [] }),
      ),
    )
  })
  const upstream = openUpstream({
    url: server.url,
    credentials: { clientId: 'client', clientSecret: 'secret' },
    tokenStore: createInMemoryTokenStore(Date.now),
    rateLimiter: unlimited,
    clock: Date.now,
    random: () => 0.5,
    sleep: sleepFor,
  })
  onTestFinished(async () => {
    await upstream.close()
    await server.close()
    await close()
  })
  const found: unknown[] = []
  for await (const profiles of upstream.searchProfiles({}, nightlyCall)) found.push(...profiles)
  return { found, unusable: await points('vitalsync.upstream.odd_records') }
}

test('profiles without a name are left out of a search, and counted', async () => {
  const named = { externalId: 'ada' }

  expect(await search([named, {}, { externalId: 7 }])).toEqual({
    found: [expect.objectContaining(named)],
    unusable: [[{ stream: 'profiles' }, 2]],
  })
})

test('where all profiles have a name none is counted', async () => {
  expect(await search([{ externalId: 'ada' }])).toMatchObject({ found: [{ externalId: 'ada' }], unusable: [] })
})
