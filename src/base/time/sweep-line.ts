import type { Span } from './spans.ts'

type Portion<T extends Span> = Span & { readonly of: T }

/**
 * Gives each moment to the best of the items that cover it: a sweep line over the sorted starts and ends. A heap ordered
 * by rank holds the items that cover the current moment; an item that has ended leaves the heap when it reaches the top.
 * O(n log n). Neighbouring portions of one item are joined.
 */
export function sweepLine<T extends Span>(items: readonly T[], better: (a: T, b: T) => number): Portion<T>[] {
  const ranked = items.filter((item) => item.endMs > item.startMs).sort(better)
  const byStart = ranked.map((item, rank) => ({ item, rank })).sort((a, b) => a.item.startMs - b.item.startMs)
  const boundaries = [...new Set(ranked.flatMap((item) => [item.startMs, item.endMs]))].sort((a, b) => a - b)
  const covering: number[] = []
  const portions: { startMs: number; endMs: number; of: T }[] = []
  let next = 0
  for (const [index, startMs] of boundaries.entries()) {
    const endMs = boundaries[index + 1]
    if (endMs === undefined) break
    for (let entry = byStart[next]; entry && entry.item.startMs <= startMs; entry = byStart[next]) {
      pushRank(covering, entry.rank)
      next += 1
    }
    while (covering.length > 0 && (ranked[covering[0] ?? 0]?.endMs ?? 0) <= startMs) popRank(covering)
    const winner = covering.length > 0 ? ranked[covering[0] ?? 0] : undefined
    if (!winner) continue
    const last = portions.at(-1)
    if (last && last.of === winner && last.endMs === startMs) last.endMs = endMs
    else portions.push({ startMs, endMs, of: winner })
  }
  return portions
}

function pushRank(heap: number[], rank: number): void {
  let index = heap.length
  heap.push(rank)
  while (index > 0) {
    const parent = (index - 1) >>> 1
    const parentRank = heap[parent] ?? 0
    if (parentRank <= rank) break
    heap[index] = parentRank
    index = parent
  }
  heap[index] = rank
}

function popRank(heap: number[]): void {
  const last = heap.pop()
  if (last === undefined || heap.length === 0) return
  let index = 0
  for (;;) {
    let child = 2 * index + 1
    if (child >= heap.length) break
    if (child + 1 < heap.length && (heap[child + 1] ?? 0) < (heap[child] ?? 0)) child += 1
    const childRank = heap[child] ?? 0
    if (childRank >= last) break
    heap[index] = childRank
    index = child
  }
  heap[index] = last
}
