import { LRUCache } from 'lru-cache'

type CachedAnswer = { readonly revision: string; readonly bytes: Buffer }

export type AnswerCache = {
  get(key: string): CachedAnswer | undefined
  put(key: string, answer: CachedAnswer): void
  /** Memory in use; never more than the limit. */
  sizeBytes(): number
}

/** The cost of one entry beside its bytes and its key: the objects around them, and the cache's own bookkeeping. */
const entryOverheadBytes = 500
/** A larger answer is not cached, because it would evict too many others. */
const entriesMin = 8

/** An LRU cache of answers, limited by bytes; keys and bookkeeping are counted. A limit of 0 caches nothing. */
export function createAnswerCache(bytesMax: number): AnswerCache {
  const maxEntrySize = Math.floor(bytesMax / entriesMin)
  if (maxEntrySize === 0) return { get: () => undefined, put: () => undefined, sizeBytes: () => 0 }
  const cache = new LRUCache<string, CachedAnswer>({
    maxSize: bytesMax,
    maxEntrySize,
    sizeCalculation: ({ bytes }, key) => bytes.length + key.length * 2 + entryOverheadBytes,
  })
  return {
    get: (key) => cache.get(key),
    put: (key, answer) => void cache.set(key, answer),
    sizeBytes: () => cache.calculatedSize,
  }
}
