/**
 * Batches the calls of concurrent callers (a "data loader"), so that they share one set-based statement: the calls of one
 * turn of the event loop go together. While `batchesAtOnce` batches run, further calls wait for the next batch, so batches
 * grow with the load.
 */
export function createBatcher<In, Out>(options: {
  itemsMax: number
  batchesAtOnce: number
  run(items: readonly In[]): Promise<readonly Out[]>
}): (item: In) => Promise<Out> {
  type Call = { item: In; resolve: (out: Out) => void; reject: (error: unknown) => void }
  let waiting: Call[] = []
  let running = 0
  let scheduled = false

  const runBatch = async (calls: Call[]) => {
    try {
      const results = await options.run(calls.map(({ item }) => item))
      // `run` answers for each item, in order. Undefined is an answer too, so the type cannot be narrowed here.
      calls.forEach(({ resolve }, index) => {
        resolve(results[index] as Out)
      })
    } catch (error) {
      for (const { reject } of calls) reject(error)
    }
  }
  const startBatches = () => {
    scheduled = false
    while (waiting.length > 0 && running < options.batchesAtOnce) {
      const calls = waiting.slice(0, options.itemsMax)
      waiting = waiting.slice(options.itemsMax)
      running += 1
      void runBatch(calls).finally(() => {
        running -= 1
        startBatches()
      })
    }
  }
  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (!scheduled) setImmediate(startBatches)
      scheduled = true
    })
}
