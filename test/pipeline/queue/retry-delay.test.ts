import { expect, test } from 'vitest'
import { AttemptFailed, retryDelayMs } from '../../../src/pipeline/queue/retry-delay.ts'

test('the delay doubles with every attempt, between half and the whole of it', () => {
  const delays = (random: number) => [1, 2, 3].map((made) => retryDelayMs(made, new Error('no'), () => random))
  expect(delays(1)).toEqual([5000, 10_000, 20_000])
  expect(delays(0)).toEqual([2500, 5000, 10_000])
})

test('the next attempt does not come before the time that upstream named', () => {
  expect(retryDelayMs(1, new AttemptFailed('busy', 300_000), () => 1)).toBe(300_000)
  expect(retryDelayMs(3, new AttemptFailed('busy', 1000), () => 1)).toBe(20_000)
})
