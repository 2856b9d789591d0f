import { expect, test } from 'vitest'
import { createBatcher } from '../../../../src/pipeline/warehouse/postgres/batcher.ts'

type Item = { readonly bucket: number; readonly name: string }

/** A batcher whose batches end when the test says so. */
function openBatches(batchesAtOnce: number, gatherMs = 0) {
  const begun: Array<{ names: string; end: () => void }> = []
  const ask = createBatcher({
    itemsMax: 10,
    batchesAtOnce,
    gatherMs,
    bucketOf: ({ bucket }: Item) => bucket,
    run: async (items: readonly Item[]) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      begun.push({ names: items.map(({ name }) => name).join(' '), end: resolve })
      await promise
      return items.map(({ name }) => `answer to ${name}`)
    },
  })
  return { ask, begun, names: () => begun.map(({ names }) => names) }
}

test('the calls of one turn go together, each bucket alone, and each gets its own answer', async () => {
  const { ask, begun, names } = openBatches(2)
  const answers = Promise.all([
    ask({ bucket: 0, name: 'a' }),
    ask({ bucket: 1, name: 'b' }),
    ask({ bucket: 0, name: 'c' }),
  ])
  await expect.poll(names).toEqual(['a c', 'b'])
  for (const { end } of begun) end()

  expect(await answers).toEqual(['answer to a', 'answer to b', 'answer to c'])
})

test('a batch that is slow holds up its own bucket, and no other', async () => {
  const { ask, begun, names } = openBatches(1)
  const slow = ask({ bucket: 0, name: 'slow' })
  await expect.poll(names).toEqual(['slow'])
  const behind = ask({ bucket: 0, name: 'behind' })
  const other = ask({ bucket: 1, name: 'other' })
  expect(names()).toEqual(['slow'])

  await expect.poll(names, { timeout: 10_000 }).toEqual(['slow', 'other'])
  begun[1]?.end()
  expect(await other).toBe('answer to other')
  expect(names()).toEqual(['slow', 'other'])
  begun[0]?.end()
  expect(await slow).toBe('answer to slow')
  await expect.poll(names).toEqual(['slow', 'other', 'behind'])
  begun[2]?.end()
  expect(await behind).toBe('answer to behind')
})

test('where calls are gathered, the calls of later turns join the batch, and one batch waits for the next', async () => {
  const { ask, begun, names } = openBatches(1, 20)
  const first = ask({ bucket: 0, name: 'a' })
  await new Promise((resolve) => setImmediate(resolve))
  const second = ask({ bucket: 0, name: 'b' })
  await expect.poll(names).toEqual(['a b'])
  const third = ask({ bucket: 0, name: 'c' })
  begun[0]?.end()
  await Promise.all([first, second])
  const fourth = ask({ bucket: 0, name: 'd' })
  await expect.poll(names).toEqual(['a b', 'c d'])
  begun[1]?.end()

  expect(await Promise.all([third, fourth])).toEqual(['answer to c', 'answer to d'])
})
