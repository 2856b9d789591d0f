import type { Span } from './spans.ts'

export type Portion<T extends Span> = Span & { readonly of: T }

/**
 * Walks along the time line once and gives each moment to the best of the items that cover it.
 * O(n log n): the items present at a moment wait in a heap ordered by rank, and leave it when they reach its top and
 * are over. Neighbouring portions of one item come out as one.
 */
export function sweep<T extends Span>(items: readonly T[], better: (a: T, b: T) => number): Portion<T>[] {
  const ranked = items.filter((item) => item.endAt > item.startAt).sort(better)
  const byStart = ranked.map((item, rank) => ({ item, rank })).sort((a, b) => a.item.startAt - b.item.startAt)
  const edges = [...new Set(ranked.flatMap((item) => [item.startAt, item.endAt]))].sort((a, b) => a - b)
  const present: number[] = []
  const portions: { startAt: number; endAt: number; of: T }[] = []
  let next = 0
  for (const [index, startAt] of edges.entries()) {
    const endAt = edges[index + 1]
    if (endAt === undefined) break
    for (let entry = byStart[next]; entry && entry.item.startAt <= startAt; entry = byStart[next]) {
      pushRank(present, entry.rank)
      next += 1
    }
    while (present.length > 0 && (ranked[present[0] ?? 0]?.endAt ?? 0) <= startAt) popRank(present)
    const winner = present.length > 0 ? ranked[present[0] ?? 0] : undefined
    if (!winner) continue
    const last = portions.at(-1)
    if (last && last.of === winner && last.endAt === startAt) last.endAt = endAt
    else portions.push({ startAt, endAt, of: winner })
  }
  return portions
}

function pushRank(heap: number[], rank: number): void {
  let place = heap.length
  heap.push(rank)
  while (place > 0) {
    const parent = (place - 1) >>> 1
    const above = heap[parent] ?? 0
    if (above <= rank) break
    heap[place] = above
    place = parent
  }
  heap[place] = rank
}

function popRank(heap: number[]): void {
  const last = heap.pop()
  if (last === undefined || heap.length === 0) return
  let place = 0
  for (;;) {
    let child = 2 * place + 1
    if (child >= heap.length) break
    if (child + 1 < heap.length && (heap[child + 1] ?? 0) < (heap[child] ?? 0)) child += 1
    const below = heap[child] ?? 0
    if (below >= last) break
    heap[place] = below
    place = child
  }
  heap[place] = last
}
