import { readFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { openUpstream } from '../../../src/pipeline/upstream/client.ts'
import { transportDefaults } from '../../../src/pipeline/upstream/http.ts'
import type { RateLimiter } from '../../../src/pipeline/upstream/limits/rate-limiter.ts'
import { createInMemoryTokenStore } from '../../../src/pipeline/upstream/tokens/in-memory-token-store.ts'
import { http, type RawRequest, startRawServer } from '../../support/raw-server.ts'
import { nightlyCall, sleepFor } from '../../support/test-upstream.ts'

/** A limiter that admits every request, and reports this many permits in flight. */
const limiterOf = (inFlightMax: number): RateLimiter => ({
  acquire: () => undefined,
  release: () => undefined,
  state: () => ({
    ...{ requestsPerSecond: 10, inFlightMax, inFlight: 0, memberCount: 1, pausedUntilMs: 0 },
    waiting: { nightly: 0, manual: 0, backfill: 0 },
  }),
  close: async () => undefined,
})

test('the client opens as many connections as the budget has requests in flight, and no more', async () => {
  const held: RawRequest[] = []
  const server = await startRawServer((request) => {
    if (request.head.includes('/oauth/account/token'))
      request.socket.write(http(200, '{"accountToken":"t","expiresIn":86400}'))
    else held.push(request)
  })
  const upstream = openUpstream({
    url: server.url,
    credentials: { clientId: 'client', clientSecret: 'secret' },
    tokenStore: createInMemoryTokenStore(Date.now),
    rateLimiter: limiterOf(3),
    clock: Date.now,
    random: () => 0.5,
    sleep: sleepFor,
  })
  onTestFinished(async () => {
    await upstream.close()
    await server.close()
  })

  const calls = Array.from({ length: 6 }, (_, index) =>
    upstream.profile(`person-${index}`, nightlyCall).catch((error: unknown) => error),
  )
  await expect.poll(() => held.length).toBeGreaterThanOrEqual(3)
  for (let answered = 0; answered < calls.length; answered += 1) {
    await expect.poll(() => held.length).toBeGreaterThan(0)
    held.shift()?.socket.write(http(404))
  }
  await Promise.all(calls)

  expect(new Set(server.requests.map(({ socket }) => socket)).size).toBe(3)
})

test('the limits of a request are those that docs/reference/upstream.md names', () => {
  const page = readFileSync(new URL('../../../docs/reference/upstream.md', import.meta.url), 'utf8').replaceAll(
    /\s+/g,
    ' ',
  )
  const seconds = (ms: number) => `${ms / 1000} s`
  const { connectTimeoutMs, headersTimeoutMs, bodyTimeoutMs, totalTimeoutMs } = transportDefaults
  const { bodyBytesMax, bufferedBytesMax } = transportDefaults
  const mebibytes = (bytes: number) => `${bytes / 1024 ** 2} MiB`

  expect(page).toContain(
    `${seconds(connectTimeoutMs)} to connect, ${seconds(headersTimeoutMs)} to the head, ${seconds(bodyTimeoutMs)} between pieces, ` +
      `${seconds(totalTimeoutMs)} in all, ${mebibytes(bodyBytesMax)} a body`,
  )
  expect(page).toContain(`Above ${mebibytes(bufferedBytesMax)} an answer is read piece by piece`)
})
