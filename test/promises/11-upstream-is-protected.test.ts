import { expect } from 'vitest'
import { soon } from '../support/fixtures.ts'
import { isReadOf } from '../support/peer.ts'
import { daysAgoMs, scoreOf } from '../support/sample-scores.ts'
import { test } from '../support/test-pipeline.ts'

test('the fleet never has more requests in flight than its budget, and nightly goes before backfill', async ({
  open,
  peer,
}) => {
  const line = await open('postgres', { BUDGET_IN_FLIGHT: '2', WINDOWS_AT_ONCE: '4' })
  const names = Array.from({ length: 6 }, (_, index) => `person-${index}`)
  await line.addProfiles(...names)
  for (const name of names) peer.give(name, 'scores', [scoreOf(10, 0.4)])
  let inFlight = 0
  let most = 0
  const order: string[] = []
  const before = peer.before
  const isScore = isReadOf('scores')
  const gate = Promise.withResolvers<void>()
  peer.before = async (seen) => {
    inFlight += 1
    most = Math.max(most, inFlight)
    if (isScore(seen)) {
      order.push(new URL(seen.path, peer.url).searchParams.get('endDateTime') ?? '')
      await gate.promise
    }
    const early = await before(seen)
    await new Promise((resolve) => setImmediate(resolve))
    inFlight -= 1
    return early
  }
  line.work()
  await line.tick('backfill', { from: daysAgoMs(400), to: daysAgoMs(100), streams: ['scores'] })
  await expect.poll(() => order.length, soon).toBe(2)
  await line.tick('nightly')
  await expect.poll(async () => (await line.pipeline.queue.backlog('nightly')).active, soon).toBe(names.length)
  gate.resolve()
  await line.idle()

  expect(most).toBe(2)
  const recent = order.flatMap((end, index) => (Date.parse(end) > daysAgoMs(70) ? [index] : []))
  expect(Math.max(...recent)).toBeLessThan(order.length - 12)
})
