import { expect, test } from 'vitest'
import { RetryLater, Unanswered } from '../../src/base/errors.ts'
import { dayNumberFromText } from '../../src/base/time/local-time.ts'
import { fetchExplanation, fetchUpstreamReasons } from '../../src/operations/fetch-explanation.ts'
import { explainScore } from '../../src/service/derive/records/explanation.ts'
import { unknownDemographics } from '../service/derive/made-logs.ts'
import { json, type ProfileStub, type Reply, startProfileStub } from '../support/profile-stub.ts'
import { type OpenedUpstream, openTestUpstream } from '../support/test-upstream.ts'

const asked = { externalId: 'ada', date: '2026-03-08', score: 'activity' }

/** As our service answers of a day without logs. */
const honest = explainScore({
  ...{ logs: [], facts: [], demographics: unknownDemographics, type: 'activity' },
  ...{ asOfMs: Date.parse('2026-03-20'), day: dayNumberFromText('2026-03-08') },
})

async function beside(reply: Reply, work: (world: OpenedUpstream & { stub: ProfileStub }) => Promise<void>) {
  const stub = await startProfileStub()
  stub.answer = () => reply
  const opened = openTestUpstream({ url: stub.url, sleep: async () => undefined })
  try {
    await work({ ...opened, stub })
  } finally {
    await opened.close()
    await stub.close()
  }
}

test('an explanation is what the service says, without keys that nobody knows', async () => {
  await beside(json(200, { ...honest, more: 'x'.repeat(1000) }), async ({ upstream }) => {
    expect(await fetchExplanation(upstream.api, asked)).toEqual(honest)
  })
})

const hostile: ReadonlyArray<readonly [string, Reply]> = [
  ['a page', { status: 200, body: '<html>Sign in</html>' }],
  ['nothing', { status: 204 }],
  ['a list', json(200, [honest])],
  ['another object', json(200, { value: null, reason: 'because' })],
  ['a text without end', json(200, { ...honest, reason: 'because '.repeat(100) })],
  ['a list without end', json(200, { ...honest, missing: Array(101).fill(honest.missing[0]) })],
  ['a value that is none', json(200, { ...honest, value: 7 })],
  ['an object in the place of a text', json(200, { ...honest, reason: { toString: 'because' } })],
  ['a factor that is none', json(200, { ...honest, factors: [null] })],
  ['negative minutes', json(200, { ...honest, lacks: [{ input: 'wear', minutes: -1, needed: 600 }] })],
]

test.each(hostile)('%s is no explanation, and why goes on without it', async (_, reply) => {
  await beside(reply, async ({ upstream }) => {
    await expect(fetchExplanation(upstream.api, asked)).rejects.toThrow(Unanswered)
    expect(await fetchUpstreamReasons(upstream.api, asked)).toEqual([])
  })
})

test('the reasons of all scores take one account token, and requests of the budget', async () => {
  await beside(json(200, honest), async ({ upstream, stub, rateLimiter }) => {
    const { reason, lacks } = honest
    expect(await fetchUpstreamReasons(upstream.api, asked)).toMatchObject([{ reason, lacks }])
    expect(stub.seen.map(({ path }) => path.split('/')[4])).toEqual(['account', ...Array(5).fill('explain')])
    expect(rateLimiter.state().inFlight).toBe(0)
  })
})

test('an upstream that wants a pause is asked no more', async () => {
  const busy = { ...json(429, { title: 'Too Many Requests' }), headers: { 'retry-after': '60' } }
  await beside(busy, async ({ upstream, stub }) => {
    const ask = () => fetchExplanation(upstream.api, asked)
    await expect(ask()).rejects.toThrow(RetryLater)
    const sent = stub.seen.length
    await expect(ask()).rejects.toThrow('wants fewer requests')
    expect(stub.seen).toHaveLength(sent)
  })
})
