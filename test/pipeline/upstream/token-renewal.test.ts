import { expect, onTestFinished, test } from 'vitest'
import { Halted, NotThere, Rejected, RetryLater, Unanswered } from '../../../src/base/errors.ts'
import { HOUR, MINUTE } from '../../../src/base/time/units.ts'
import { createInMemoryTokenStore } from '../../../src/pipeline/upstream/tokens/in-memory-token-store.ts'
import { json, type ProfileStub, type StubOptions, startProfileStub } from '../../support/profile-stub.ts'
import { biomarkers, dataLogs, demographics, scores } from '../../support/stream-by-name.ts'
import {
  ada,
  nightlyCall,
  type OpenedUpstream,
  openTestUpstream,
  type UpstreamParts,
} from '../../support/test-upstream.ts'

const oneLog = { stream: dataLogs, items: [{ id: 'x' }] }

async function open(
  options: StubOptions & Partial<UpstreamParts> = {},
): Promise<{ stub: ProfileStub } & OpenedUpstream> {
  const stub = await startProfileStub(options)
  stub.profiles.add(ada.externalId)
  const opened = openTestUpstream({ url: stub.url, ...options, clientSecret: 'client-secret' })
  onTestFinished(async () => {
    await opened.close()
    await stub.close()
  })
  return { stub, ...opened }
}

const accountTokenPath = 'oauth/account/token'

test('asks for the account token once, whichever caller comes first', async () => {
  const { stub, upstream } = await open()

  await Promise.all(Array.from({ length: 50 }, () => upstream.read(scores, ada, nightlyCall)))

  expect(stub.calls(accountTokenPath)).toBe(1)
  expect(stub.calls('profile/score/ada')).toBe(50)
})

test('takes an account token that comes without its lifetime', async () => {
  const { upstream } = await open({ expiresIn: undefined })

  expect((await upstream.read(scores, ada, nightlyCall)).records).toEqual([])
})

test('renews a dead token once for all who meet it, and fails none of them', async () => {
  let asked = 0
  const memory = createInMemoryTokenStore(Date.now)
  const counting = {
    ...memory,
    lease: (...how: Parameters<typeof memory.lease>) => memory.lease(...how).finally(() => (asked += 1)),
  }
  const { stub, upstream } = await open({ tokenStore: counting })
  await upstream.read(scores, ada, nightlyCall)
  stub.revokeAll()

  const readings = await Promise.all(Array.from({ length: 200 }, () => upstream.read(scores, ada, nightlyCall)))

  expect(readings).toHaveLength(200)
  expect(stub.calls(accountTokenPath)).toBe(2)
  // Within one process the store is not even asked twice.
  expect(asked).toBe(2)
})

test('a late refusal of an old generation does not cost the new one', async () => {
  const { stub, upstream } = await open()
  await upstream.read(scores, ada, nightlyCall)
  const { promise: release, resolve: letGo } = Promise.withResolvers<void>()
  const { promise: arrived, resolve: onArrival } = Promise.withResolvers<void>()
  stub.before = async (seen) => {
    if (!seen.path.startsWith('/api/v1/profile/biomarker')) return undefined
    if (stub.calls(accountTokenPath) > 1) return undefined
    onArrival()
    await release
    return json(401, {})
  }

  const late = upstream.read(biomarkers, ada, nightlyCall)
  await arrived
  stub.revokeAll()
  await upstream.read(scores, ada, nightlyCall)
  letGo()
  await late

  expect(stub.calls(accountTokenPath)).toBe(2)
})

test('forgets a failed renewal: the next caller tries afresh', async () => {
  const { stub, upstream, waits } = await open()
  stub.before = ({ path }) => (path.endsWith(accountTokenPath) ? json(500, {}) : undefined)
  const failure = await upstream.read(scores, ada, nightlyCall).catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(RetryLater)
  expect(String(failure)).toContain('upstream failed (status 500)')

  stub.before = () => undefined

  expect((await upstream.read(scores, ada, nightlyCall)).records).toEqual([])
  expect(waits).toEqual([])
})

test('refused credentials halt the account with a reason, and upstream is left alone', async () => {
  const { stub, upstream } = await open({ clientSecret: 'another' })

  const first = await upstream.read(scores, ada, nightlyCall).catch((error: unknown) => error)
  await expect(upstream.read(scores, ada, nightlyCall)).rejects.toThrow(Halted)

  expect(first).toBeInstanceOf(Halted)
  expect(String(first)).toContain("refuses the account's credentials")
  expect(stub.calls(accountTokenPath)).toBe(1)
})

test('a token refused right after its renewal halts the account instead of asking on', async () => {
  const { stub, upstream } = await open()
  stub.refuseAll(true)

  const outcomes = await Promise.allSettled(Array.from({ length: 100 }, () => upstream.read(scores, ada, nightlyCall)))

  expect(new Set(outcomes.map((o) => (o.status === 'rejected' ? o.reason.constructor : 'fulfilled')))).toEqual(
    new Set([Halted]),
  )
  expect(stub.calls(accountTokenPath)).toBe(2)
})

test('a halted account is asked again after its pause, and goes on when it is mended', async () => {
  let nowMs = Date.now()
  const { stub, upstream } = await open({ clock: () => nowMs })
  stub.refuseAll(true)
  await expect(upstream.read(scores, ada, nightlyCall)).rejects.toThrow(Halted)
  stub.refuseAll(false)
  await expect(upstream.read(scores, ada, nightlyCall)).rejects.toThrow(Halted)

  nowMs += MINUTE

  expect((await upstream.read(scores, ada, nightlyCall)).records).toEqual([])
})

test('a profile that upstream refuses to the account halts nobody else', async () => {
  const { stub, upstream } = await open()
  stub.before = ({ path }) => (path.includes('/odd') ? json(401, {}) : undefined)

  const error = await upstream.read(scores, { profileId: '2', externalId: 'odd' }, nightlyCall).catch((e: unknown) => e)

  expect(error).toBeInstanceOf(Rejected)
  expect(String(error)).not.toContain('odd')

  expect((await upstream.read(scores, ada, nightlyCall)).records).toEqual([])
  expect(stub.calls(accountTokenPath)).toBeLessThanOrEqual(2)
})

test('renews well before the end, once, without making anybody wait', async () => {
  let nowMs = Date.now()
  const { stub, upstream } = await open({ clock: () => nowMs })
  await upstream.read(scores, ada, nightlyCall)

  nowMs += 22 * HOUR
  await Promise.all(Array.from({ length: 20 }, () => upstream.read(scores, ada, nightlyCall)))
  await expect.poll(() => stub.calls(accountTokenPath)).toBe(2)
  const used = new Set(stub.seen.map((seen) => seen.authorization).filter((words) => words !== ''))

  expect(used.size).toBe(1)
  // The new token may still be on its way: until it is saved, the old one is used.
  const authorizationOfRead = async () => {
    await upstream.read(scores, ada, nightlyCall)
    return stub.seen.at(-1)?.authorization
  }
  await expect.poll(authorizationOfRead).not.toBe([...used][0])
  expect(stub.calls(accountTokenPath)).toBe(2)
})

test('refreshes a profile token ahead of its end while it still lives', async () => {
  let nowMs = Date.now()
  const { stub, upstream } = await open({ clock: () => nowMs })
  await upstream.read(demographics, ada, nightlyCall)

  nowMs += 22 * HOUR
  await upstream.read(demographics, ada, nightlyCall)
  await expect.poll(() => stub.calls('oauth/profile/refreshToken')).toBe(1)

  await upstream.read(demographics, ada, nightlyCall)
  expect(stub.calls('oauth/profile/token')).toBe(1)
})

test('goes back to the account token when the reply to a refresh was lost, and never spends a refresh token twice', async () => {
  let nowMs = Date.now()
  const { stub, upstream } = await open({ clock: () => nowMs })
  await upstream.read(demographics, ada, nightlyCall)
  stub.before = ({ path }) => (path.endsWith('refreshToken') ? 'lose' : undefined)

  nowMs += 22 * HOUR
  await upstream.read(demographics, ada, nightlyCall)
  await expect.poll(() => stub.calls('oauth/profile/token')).toBe(2)

  expect(stub.calls('oauth/profile/refreshToken')).toBe(1)
  expect((await upstream.read(demographics, ada, nightlyCall)).records).toHaveLength(0)
})

test('a dead profile token is replaced through the account, not refreshed', async () => {
  const { stub, upstream } = await open()
  await upstream.read(demographics, ada, nightlyCall)
  stub.revokeAll()

  await upstream.pushItems(ada, oneLog, nightlyCall).catch(() => undefined)

  expect(stub.calls('oauth/profile/refreshToken')).toBe(0)
  expect(stub.calls('oauth/profile/token')).toBeGreaterThanOrEqual(2)
})

test('an unknown profile is not there, and its account goes on', async () => {
  const { upstream } = await open()

  await expect(upstream.read(demographics, { profileId: '9', externalId: 'nobody' }, nightlyCall)).rejects.toThrow(
    NotThere,
  )

  expect((await upstream.read(scores, ada, nightlyCall)).records).toEqual([])
})

test('a registration whose answer was lost is not sent again: the profile is asked for', async () => {
  const { stub, upstream } = await open()
  const eve = { profileId: '5', externalId: 'eve' }
  stub.before = ({ path }) => (path.endsWith('/register') ? 'lose' : undefined)

  await upstream.register(eve, nightlyCall)

  expect(stub.calls('oauth/profile/register')).toBe(1)
  expect(stub.calls('oauth/profile/token')).toBe(1)
  await upstream.read(demographics, eve, nightlyCall)
  expect(stub.calls('oauth/profile/token')).toBe(1)
})

test('a registration that upstream never saw is left to the queue', async () => {
  const { stub, upstream } = await open()
  stub.before = ({ path }) => (path.endsWith('/register') ? 'drop' : undefined)

  await expect(upstream.register({ profileId: '5', externalId: 'eve' }, nightlyCall)).rejects.toThrow(Unanswered)

  expect(stub.calls('oauth/profile/register')).toBe(1)
})

test('a registration keeps the token that came with it, and a name in use is refused as it is', async () => {
  const { stub, upstream } = await open()
  const eve = { profileId: '5', externalId: 'eve' }

  await upstream.register(eve, nightlyCall)
  await upstream.read(demographics, eve, nightlyCall)

  expect(stub.calls('oauth/profile/token')).toBe(0)
  await expect(upstream.register({ profileId: '6', externalId: 'eve' }, nightlyCall)).rejects.toThrow(Rejected)
})

test('a forgotten profile has no token here any more', async () => {
  const { stub, upstream } = await open()
  await upstream.read(demographics, ada, nightlyCall)

  await upstream.forgetToken(ada.profileId)
  await upstream.read(demographics, ada, nightlyCall)

  expect(stub.calls('oauth/profile/token')).toBe(2)
})

test('a token that dies time after time ends with the wish to be asked again, not with a storm', async () => {
  const { stub, upstream } = await open()
  await upstream.read(scores, ada, nightlyCall)
  stub.before = ({ path }) => {
    // Every token dies as soon as it has been used on a search: taken there, and dead for the read that follows.
    if (path.includes('/score/')) stub.revokeAll()
    return undefined
  }

  const error = await upstream.read(scores, ada, nightlyCall).catch((failure: unknown) => failure)

  expect(error instanceof RetryLater || error instanceof Halted).toBe(true)
  expect(stub.calls(accountTokenPath)).toBeLessThanOrEqual(4)
})

test('a write whose profile token is refused again is no fault of the items, and does not halt the account', async () => {
  const { stub, upstream } = await open()
  stub.before = ({ path }) => (path.endsWith('/data/log') ? json(401, {}) : undefined)

  const error = await upstream.pushItems(ada, oneLog, nightlyCall).catch((failure: unknown) => failure)

  expect(error).toBeInstanceOf(Unanswered)
  expect(stub.calls('oauth/profile/token')).toBe(3)
  expect((await upstream.read(scores, ada, nightlyCall)).records).toEqual([])
})
