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

/** A change that fails with the error each time. Once it has been repeated too often it succeeds, so that a test of endless repeats ends. */
function failingChange(error: Error, callsMax: number) {
  const change = { calls: 0, make }
  async function make() {
    change.calls += 1
    if (change.calls <= callsMax) throw error
  }
  return change
}

test('a change of the queue is repeated after a rest while the queue is out and the lease lasts', async () => {
  const change = failingChange(outage, 2)
  const startedAtMs = performance.now()
  await whileLeased(HOUR_MS, change.make)

  expect(change.calls).toBe(3)
  expect(performance.now() - startedAtMs).toBeGreaterThan(400)
})

test.for([
  ['after the lease', 0, outage, 1],
  ['where the queue itself refuses it', HOUR_MS, new Error('job not active'), 1],
  ['after a lease that ended while the queue was out', 300, outage, 3],
] as const)('a change is not repeated %s', async ([_, leaseMs, error, callsMax]) => {
  const change = failingChange(error, callsMax)
  await expect(whileLeased(leaseMs, change.make)).rejects.toBe(error)
  expect(change.calls).toBeLessThanOrEqual(callsMax)
})
