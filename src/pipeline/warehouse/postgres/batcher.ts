import { createBucketSlots } from './bucket-slots.ts'

/**
 * Batches the calls of concurrent callers (a "data loader"), so that they share one set-based statement: the calls of one
 * turn of the event loop go together, unless their items belong to different buckets. While `batchesAtOnce` batches run,
 * further calls wait for the next batch, so batches grow with the load; a batch that is slow holds up its own bucket only. With
 * `gatherMs` each batch first waits that long for more calls: where a statement costs more than its rows.
 */
export function createBatcher<In, Out>(options: {
  itemsMax: number
  batchesAtOnce: number
  gatherMs?: number
  bucketOf(item: In): number
  run(items: readonly In[]): Promise<readonly Out[]>
}): (item: In) => Promise<Out> {
  type Call = { item: In; resolve: (out: Out) => void; reject: (error: unknown) => void }
  let waiting: Call[] = []
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
  /** The calls of a bucket, which is that of the call that waits longest. */
  const takeBatch = (bucket: number): Call[] => {
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
    while (slots.isFree()) {
      const next = waiting.find(({ item }) => slots.isOpen(options.bucketOf(item)))
      if (!next) return
      const bucket = options.bucketOf(next.item)
      const calls = takeBatch(bucket)
      slots.run(bucket, () => runBatch(calls))
    }
  }
  const schedule = () => {
    if (scheduled || waiting.length === 0) return
    scheduled = true
    if (options.gatherMs) setTimeout(startBatches, options.gatherMs)
    else setImmediate(startBatches)
  }
  const slots = createBucketSlots(options.batchesAtOnce, options.gatherMs ? schedule : startBatches)
  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      schedule()
    })
}
