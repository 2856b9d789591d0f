import { expect } from 'vitest'
import { type LaneQueue, openQueueEngine } from '../../../src/pipeline/queue/engine.ts'
import { clearEndedPause, pauseLane, pauseLeftMs } from '../../../src/pipeline/queue/lane-pauses.ts'
import { test as base } from '../../support/fixtures.ts'

const test = base.extend<{ queue: LaneQueue }>({
  queue: async ({ database }, use) => {
    const engine = await openQueueEngine(database)
    await use(engine.queue('manual'))
    await engine.close()
  },
})

/** The queue, with something of another worker done right after the first of these calls. */
function withOther(queue: LaneQueue, call: keyof LaneQueue, other: () => Promise<unknown>): LaneQueue {
  const original = queue[call]
  let calls = 0
  return Object.assign(Object.create(queue), {
    [call]: async (...values: unknown[]) => {
      const answer = await Reflect.apply(original as () => Promise<unknown>, queue, values)
      calls += 1
      if (calls === 1) await other()
      return answer
    },
  })
}

/** BullMQ keeps to a pause only where both are there. */
const holds = async (queue: LaneQueue) => (await pauseLeftMs(queue)) > 0 && (await queue.getGlobalRateLimit()) !== null

test('a pause holds until its limit is cleared after its end', async ({ queue }) => {
  await pauseLane([queue], 60_000)
  expect(await clearEndedPause(queue)).toBe(false)
  expect(await holds(queue)).toBe(true)

  await queue.removeRateLimitKey()
  expect(await clearEndedPause(queue)).toBe(true)

  expect(await queue.getGlobalRateLimit()).toBeNull()
})

test('a pause that begins while another worker clears the one before it holds', async ({ queue }) => {
  await pauseLane([queue], 60_000)
  await queue.removeRateLimitKey()
  const pausedMeanwhile = withOther(queue, 'removeGlobalRateLimit', () => queue.rateLimit(60_000))

  expect(await clearEndedPause(pausedMeanwhile)).toBe(false)

  expect(await holds(queue)).toBe(true)
})

for (const call of ['rateLimit', 'setGlobalRateLimit'] as const)
  test(`a pause holds though another worker clears an ended one right after ${call}`, async ({ queue }) => {
    await pauseLane([withOther(queue, call, () => clearEndedPause(queue))], 60_000)

    expect(await holds(queue)).toBe(true)
  })

test('of two pauses the longer one counts, in whichever order they come', async ({ queue }) => {
  for (const pauses of [
    [2000, 600_000],
    [600_000, 2000],
  ]) {
    for (const pauseMs of pauses) await pauseLane([queue], pauseMs)
    expect(await pauseLeftMs(queue)).toBeGreaterThan(500_000)
    await queue.removeRateLimitKey()
  }
})

test('a longer pause holds though a shorter one that began at the same moment is set right after it', async ({
  queue,
}) => {
  await pauseLane([withOther(queue, 'rateLimit', () => queue.rateLimit(2000))], 600_000)

  expect(await pauseLeftMs(queue)).toBeGreaterThan(500_000)
})
