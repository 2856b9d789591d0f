import { expect, onTestFinished, test } from 'vitest'
import { NotThere, Rejected, Unanswered } from '../../../src/base/errors.ts'
import { json, startProfileStub } from '../../support/profile-stub.ts'
import { scores } from '../../support/stream-by-name.ts'
import { ada, nightlyCall, openTestUpstream } from '../../support/test-upstream.ts'

const eve = { profileId: '5', externalId: 'eve' }
const isRegistration = ({ path }: { path: string }) => path.endsWith('/register')

async function open() {
  const stub = await startProfileStub()
  const opened = openTestUpstream({ url: stub.url, sleep: async () => undefined })
  onTestFinished(async () => {
    await opened.close()
    await stub.close()
  })
  return { stub, ...opened }
}

const failureOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'no failure',
    (error: unknown) => error,
  )

test.for<[number, new (...given: never[]) => Error, number]>([
  [400, Rejected, 0],
  [404, NotThere, 0],
  [403, Rejected, 0],
  [500, Unanswered, 1],
  [504, Unanswered, 1],
  [206, Unanswered, 1],
])(
  'a registration answered by %i is never sent again, and asks for the token only where it may have been made',
  async ([status, thrown, tokenCalls]) => {
    const { stub, upstream } = await open()
    stub.before = (seen) => (isRegistration(seen) ? json(status, {}) : undefined)

    expect(await failureOf(upstream.register(eve, nightlyCall))).toBeInstanceOf(thrown)
    expect(stub.calls('oauth/profile/register')).toBe(1)
    expect(stub.calls('oauth/profile/token')).toBe(tokenCalls)
  },
)

test('a lost registration of a profile that upstream does not know fails as it was lost', async () => {
  const { stub, upstream } = await open()
  stub.before = (seen) => (isRegistration(seen) ? 'drop' : undefined)

  expect(await failureOf(upstream.register(eve, nightlyCall))).toMatchObject({ name: 'Unanswered' })
})

test('a lost registration whose token cannot be asked for fails by that', async () => {
  const { stub, upstream } = await open()
  stub.before = (seen) => {
    if (isRegistration(seen)) return 'lose'
    return seen.path.endsWith('/profile/token') ? json(410, {}) : undefined
  }
  const failure = await failureOf(upstream.register(eve, nightlyCall))
  expect(failure).toBeInstanceOf(Unanswered)

  stub.before = (seen) => {
    if (isRegistration(seen)) return 'lose'
    return seen.path.endsWith('/profile/token') ? json(429, {}) : undefined
  }
  const eva = { profileId: '6', externalId: 'eva' }
  expect(await failureOf(upstream.register(eva, nightlyCall))).toMatchObject({ name: 'RetryLater' })
})

test('a caller that gives up while its registration is lost does not wait for the token', async () => {
  const { stub, upstream } = await open()
  const leaving = new AbortController()
  stub.before = (seen) => {
    if (!isRegistration(seen)) return undefined
    leaving.abort()
    return 'lose'
  }

  expect(await failureOf(upstream.register(eve, { ...nightlyCall, signal: leaving.signal }))).toBeInstanceOf(Unanswered)
})

test('closing ends a request for a token before its connection: who waited is asked to come again', async () => {
  const { stub, upstream } = await open()
  const asked = Promise.withResolvers<void>()
  const held = Promise.withResolvers<undefined>()
  stub.before = () => {
    asked.resolve()
    return held.promise
  }
  const reading = failureOf(upstream.read(scores, ada, nightlyCall))
  await asked.promise

  await upstream.close()
  held.resolve(undefined)

  expect(await reading).toMatchObject({
    name: 'RetryLater',
    message: expect.stringContaining('given up by its caller'),
  })
})
