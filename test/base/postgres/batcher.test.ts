import { expect, test } from 'vitest'
import { createBatcher } from '../../../src/base/postgres/batcher.ts'

type Item = { readonly key: number; readonly name: string }

/** A batcher whose batches end when the test says so. */
function openBatches(batchesAtOnce: number) {
  const begun: Array<{ names: string; end: () => void }> = []
  const ask = createBatcher({
    itemsMax: 10,
    batchesAtOnce,
    keyOf: ({ key }: Item) => key,
    run: async (items: readonly Item[]) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      begun.push({ names: items.map(({ name }) => name).join(' '), end: resolve })
      await promise
      return items.map(({ name }) => `answer to ${name}`)
    },
  })
  return { ask, begun, names: () => begun.map(({ names }) => names) }
}

test('the calls of one turn go together, each key alone, and each gets its own answer', async () => {
  const { ask, begun, names } = openBatches(2)
  const answers = Promise.all([ask({ key: 0, name: 'a' }), ask({ key: 1, name: 'b' }), ask({ key: 0, name: 'c' })])
  await expect.poll(names).toEqual(['a c', 'b'])
  for (const { end } of begun) end()

  expect(await answers).toEqual(['answer to a', 'answer to b', 'answer to c'])
})

test('calls that come while as many batches run as may wait, and go together then, the longest waiting first', async () => {
  const { ask, begun, names } = openBatches(1)
  const first = ask({ key: 0, name: 'first' })
  await expect.poll(names).toEqual(['first'])
  const later = Promise.all([
    ask({ key: 1, name: 'other' }),
    ask({ key: 0, name: 'behind' }),
    ask({ key: 1, name: 'another' }),
  ])
  await new Promise((resolve) => setImmediate(resolve))
  expect(names()).toEqual(['first'])
  begun[0]?.end()
  await expect.poll(names).toEqual(['first', 'other another'])
  begun[1]?.end()
  await expect.poll(names).toEqual(['first', 'other another', 'behind'])
  begun[2]?.end()

  expect(await first).toBe('answer to first')
  expect(await later).toEqual(['answer to other', 'answer to behind', 'answer to another'])
})
