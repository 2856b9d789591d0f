/**
 * Batches the calls of concurrent callers (a "data loader"), so that they share one set-based statement: the calls of one
 * turn of the event loop go together, unless their keys differ. While `batchesAtOnce` batches run, further calls wait for the
 * next batch, so batches grow with the load.
 */
export function createBatcher<In, Out>(options: {
  itemsMax: number
  batchesAtOnce: number
  /** Items of different keys do not share a statement. */
  keyOf(item: In): number
  run(items: readonly In[]): Promise<readonly Out[]>
}): (item: In) => Promise<Out> {
  type Call = { item: In; resolve: (out: Out) => void; reject: (error: unknown) => void }
  let waiting: Call[] = []
  let isScheduled = false
  let running = 0

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
  /** The calls with the key of the call that waits longest. */
  const takeBatch = (first: Call): Call[] => {
    const key = options.keyOf(first.item)
    const taken: Call[] = []
    const left: Call[] = []
    for (const call of waiting) {
      const fits = taken.length < options.itemsMax && options.keyOf(call.item) === key
      ;(fits ? taken : left).push(call)
    }
    waiting = left
    return taken
  }
  const startBatches = () => {
    isScheduled = false
    for (let first = waiting[0]; first && running < options.batchesAtOnce; first = waiting[0]) {
      running += 1
      void runBatch(takeBatch(first)).finally(() => {
        running -= 1
        startBatches()
      })
    }
  }
  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (!isScheduled) setImmediate(startBatches)
      isScheduled = true
    })
}
