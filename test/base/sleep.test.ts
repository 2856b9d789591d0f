import { expect, test } from 'vitest'
import { endsWithin, sleep } from '../../src/base/sleep.ts'
import { MINUTE } from '../../src/base/time/units.ts'

const never = new Promise<void>(() => undefined)

test('a sleep ends with its time, or fails when its signal aborts', async () => {
  await sleep(1)
  const stop = new AbortController()
  const long = sleep(MINUTE, stop.signal)
  stop.abort()

  await expect(long).rejects.toThrow('aborted')
  await expect(sleep(MINUTE, AbortSignal.abort())).rejects.toThrow('aborted')
})

test('work that fails in time has ended in time, and work that goes on has not', async () => {
  expect(await endsWithin(Promise.resolve(), MINUTE)).toBe(true)
  expect(await endsWithin(Promise.reject(new Error('no')), MINUTE)).toBe(true)
  expect(await endsWithin(never, 1)).toBe(false)
})

test('work that ends leaves no timer behind', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
  const before = timers()
  await endsWithin(Promise.resolve(), MINUTE)

  expect(timers()).toBe(before)
})
