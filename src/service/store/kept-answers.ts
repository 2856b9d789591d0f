export type KeptAnswer = { readonly revision: string; readonly bytes: Buffer }

export type KeptAnswers = {
  get(key: string): KeptAnswer | undefined
  put(key: string, answer: KeptAnswer): void
  /** Memory that is taken now, never more than was allowed. */
  bytesTaken(): number
}

/** What one entry costs beside its bytes and its key: the objects around them, and their places in the map. */
const entryBytes = 500

/**
 * Keeps the answers that were used last, within a number of bytes in which keys and all else are counted.
 * An answer that would take more than an eighth of it is not kept: it would drive out too many others.
 */
export function createKeptAnswers(bytesMax: number): KeptAnswers {
  const shelf = new Map<string, KeptAnswer>()
  let taken = 0
  const costOf = (key: string, { bytes }: KeptAnswer) => bytes.length + key.length * 2 + entryBytes
  const remove = (key: string) => {
    const found = shelf.get(key)
    if (!found) return
    taken -= costOf(key, found)
    shelf.delete(key)
  }
  return {
    get(key) {
      const found = shelf.get(key)
      if (!found) return undefined
      // Put at the end: what stands first was used longest ago.
      shelf.delete(key)
      shelf.set(key, found)
      return found
    },
    put(key, answer) {
      remove(key)
      if (costOf(key, answer) > bytesMax / 8) return
      shelf.set(key, answer)
      taken += costOf(key, answer)
      for (const oldest of shelf.keys()) {
        if (taken <= bytesMax) break
        remove(oldest)
      }
    },
    bytesTaken: () => taken,
  }
}
