/**
 * Batches the calls of concurrent callers (a "data loader"), so that they share one set-based statement: the calls of one
 * turn of the event loop go together, unless their items belong to different buckets. While `batchesAtOnce` batches run,
 * further calls wait for the next batch, so batches grow with the load.
 */
export function createBatcher<In, Out>(options: {
  itemsMax: number
  batchesAtOnce: number
  bucketOf(item: In): number
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
  /** The calls of the bucket of the call that waits longest. */
  const takeBatch = (): Call[] => {
    const bucket = waiting[0] && options.bucketOf(waiting[0].item)
    const taken: Call[] = []
    const left: Call[] = []
    for (const call of waiting) {
      const fits = taken.length < options.itemsMax && options.bucketOf(call.item) === bucket
      ;(fits ? taken : left).push(call)
    }
    waiting = left
    return taken
  }
  const startBatches = () => {
    scheduled = false
    while (waiting.length > 0 && running < options.batchesAtOnce) {
      const calls = takeBatch()
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
