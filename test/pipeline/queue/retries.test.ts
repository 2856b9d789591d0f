import { expect, test } from 'vitest'
import { AttemptFailed, retryDelayMs, whileLeased } from '../../../src/pipeline/queue/retries.ts'

const HOUR_MS = 3_600_000

test('the delay doubles with every attempt, between half and the whole of it', () => {
  const delays = (random: number) => [1, 2, 3].map((made) => retryDelayMs(made, new Error('no'), () => random))
  expect(delays(1)).toEqual([5000, 10_000, 20_000])
  expect(delays(0)).toEqual([2500, 5000, 10_000])
})

test('the next attempt does not come before the time that upstream named', () => {
  expect(retryDelayMs(1, new AttemptFailed('busy', 300_000), () => 1)).toBe(300_000)
  expect(retryDelayMs(3, new AttemptFailed('busy', 1000), () => 1)).toBe(20_000)
})

const outage = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })

test('a change of the queue is repeated while the queue is out and the lease lasts', async () => {
  let calls = 0
  await whileLeased(HOUR_MS, async () => {
    calls += 1
    if (calls < 3) throw outage
  })

  expect(calls).toBe(3)
})

test('a change is not repeated after the lease, and never where the queue itself refuses it', async () => {
  for (const [leaseMs, error, callsMax] of [
    [0, outage, 1],
    [HOUR_MS, new Error('job not active'), 1],
    [300, outage, 3],
  ] as const) {
    let calls = 0
    const change = whileLeased(leaseMs, async () => {
      calls += 1
      throw error
    })
    await expect(change).rejects.toBe(error)
    expect(calls).toBeLessThanOrEqual(callsMax)
  }
})
