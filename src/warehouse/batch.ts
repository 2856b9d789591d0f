/**
 * Lets concurrent callers share one set-based statement: what is asked within one turn of the event loop goes together.
 * While `atOnce` statements are under way the next callers gather, so the statements grow with the load.
 */
export function createBatch<In, Out>(options: {
  itemsMax: number
  atOnce: number
  run(items: readonly In[]): Promise<readonly Out[]>
}): (item: In) => Promise<Out> {
  type Waiting = { item: In; resolve: (out: Out) => void; reject: (error: unknown) => void }
  let waiting: Waiting[] = []
  let underWay = 0
  let scheduled = false

  const settle = async (group: Waiting[]) => {
    try {
      const results = await options.run(group.map(({ item }) => item))
      // The runner answers for each item, in order; undefined is an answer like any other.
      group.forEach(({ resolve }, index) => {
        resolve(results[index] as Out)
      })
    } catch (error) {
      for (const { reject } of group) reject(error)
    }
  }
  const pump = () => {
    scheduled = false
    while (waiting.length > 0 && underWay < options.atOnce) {
      const group = waiting.slice(0, options.itemsMax)
      waiting = waiting.slice(options.itemsMax)
      underWay += 1
      void settle(group).finally(() => {
        underWay -= 1
        pump()
      })
    }
  }
  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (!scheduled) setImmediate(pump)
      scheduled = true
    })
}
