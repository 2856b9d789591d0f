import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { RetryLater, Unanswered } from '../../../src/base/errors.ts'
import { SECOND } from '../../../src/base/time/units.ts'
import type { NewToken } from '../../../src/pipeline/fleet/tokens.ts'
import { accountOfFleet as account, failureOf, LIFETIME_MS, openFleet } from '../../support/token-fleet.ts'

const stopping = { name: 'RetryLater', message: 'renew token: this process is stopping', waitMs: SECOND }

test('a caller that gives up stops waiting; the renewal goes on for the others', async () => {
  const answer = Promise.withResolvers<NewToken>()
  const { provider, obtained, tokenOf } = openFleet(() => answer.promise)
  const leaving = new AbortController()
  const tokenProvider = provider()
  const leaves = failureOf(() => tokenProvider.get(account, 0, { signal: leaving.signal }))
  const stays = tokenProvider.get(account, 0, {})
  await expect.poll(() => obtained).toHaveLength(1)

  leaving.abort('enough')

  const message = 'call upstream: given up by its caller'
  expect(await leaves).toMatchObject({ name: 'Unanswered', message, cause: 'enough' })
  answer.resolve(tokenOf(1))
  expect(await stays).toMatchObject({ secret: 't1' })
  expect(obtained).toHaveLength(1)
  expect(obtained[0]?.signal.aborted).toBe(false)
})

test('a caller that gave up before waits for nothing, and none leaves a listener at its signal', async () => {
  const { provider } = openFleet()
  const tokenProvider = provider()
  expect(await failureOf(() => tokenProvider.get(account, 0, { signal: AbortSignal.abort() }))).toBeInstanceOf(
    Unanswered,
  )

  const { signal } = new AbortController()
  await tokenProvider.get(account, 1, { signal })
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

test('closing ends a request for a token, and its callers are asked to come again', async () => {
  const begun = Promise.withResolvers<void>()
  const { provider, store } = openFleet(({ signal }) => {
    begun.resolve()
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  })
  const tokenProvider = provider()
  const waiting = failureOf(() => tokenProvider.get(account, 0, {}))
  await begun.promise

  await tokenProvider.close()

  expect(await waiting).toMatchObject(stopping)
  // The lease was given back before the process ended.
  expect(await store.lease(account, { generation: 0, leaseMs: 1 })).toMatchObject({ kind: 'leased' })
})

test('closing ends the wait for another process, and its callers are asked to come again', async () => {
  const asked = Promise.withResolvers<void>()
  let asks = 0
  const { provider } = openFleet(undefined, () => ({
    async lease() {
      asks += 1
      if (asks === 3) asked.resolve()
      return { kind: 'busy' }
    },
  }))
  const tokenProvider = provider()
  const waiting = failureOf(() => tokenProvider.get(account, 0, {}))
  await asked.promise

  await tokenProvider.close()

  expect(await waiting).toMatchObject(stopping)
  expect(asks).toBeLessThan(6)
})

test('closing waits for the renewals and the proofs that run', async () => {
  const saved = Promise.withResolvers<void>()
  const proven = Promise.withResolvers<void>()
  const ended: string[] = []
  const { provider, advance } = openFleet(undefined, (memory) => ({
    async save(...given) {
      if (ended.length > 0) await saved.promise
      ended.push('saved')
      return memory.save(...given)
    },
    async markProven() {
      await proven.promise
      ended.push('proven')
    },
  }))
  const tokenProvider = provider()
  tokenProvider.markAccepted(account, await tokenProvider.get(account, 0, {}))
  advance(0.9 * LIFETIME_MS)
  await tokenProvider.get(account, 0, {})

  const closed = tokenProvider.close().then(() => ended.push('closed'))
  await new Promise((turned) => setImmediate(turned))
  saved.resolve()
  await new Promise((turned) => setImmediate(turned))
  proven.resolve()
  await closed

  expect(ended).toEqual(['saved', 'saved', 'proven', 'closed'])
})

test('a token that lives is given at once, without a question to the store', async () => {
  let reads = 0
  const { provider } = openFleet(undefined, (memory) => ({
    read(name) {
      reads += 1
      return memory.read(name)
    },
  }))
  const tokenProvider = provider()
  await tokenProvider.get(account, 0, {})
  const before = reads

  expect(tokenProvider.get(account, 0, {})).not.toBeInstanceOf(Promise)
  expect(reads).toBe(before)
})

test('200 callers share one renewal, also when it fails', async () => {
  const { provider, obtained } = openFleet(() => {
    throw new RetryLater('busy', { waitMs: 1 })
  })
  const tokenProvider = provider()
  const failures = await Promise.all(
    Array.from({ length: 200 }, () => failureOf(() => tokenProvider.get(account, 0, {}))),
  )

  expect(new Set(failures).size).toBe(1)
  expect(obtained).toHaveLength(1)
})
