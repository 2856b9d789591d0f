import { expect, test } from 'vitest'
import { openCloseStack } from '../../src/base/close-stack.ts'

test('parts that do not close are left behind, all of them within the time of the slowest', async () => {
  const begun: string[] = []
  const stack = openCloseStack(200)
  for (const name of ['first', 'second', 'third', 'fourth', 'last'])
    stack.add({ close: () => new Promise<void>(() => begun.push(name)) }, name, name === 'second' ? 300 : undefined)
  const beganMs = performance.now()

  await expect(stack.close()).rejects.toThrow(/^close last: not done within 0.2 s$/)
  expect(performance.now() - beganMs).toBeLessThan(450)
  expect(begun).toEqual(['last', 'fourth', 'third', 'second', 'first'])
})
