/** The known word that a mistyped one most likely means, if any is near enough. */
export function nearMiss(word: string, known: readonly string[]): string | undefined {
  const ranked = known
    .map((candidate) => ({ candidate, distance: editDistance(word, candidate) }))
    .filter(({ candidate, distance }) => distance > 0 && distance <= farthest(word, candidate))
    .sort((a, b) => a.distance - b.distance)
  return ranked[0]?.candidate
}

/** Of a short word, half would be another word: PGPORT is no slip for PORT. */
const farthest = (word: string, candidate: string) => (Math.min(word.length, candidate.length) <= 4 ? 1 : 2)

/** Damerau-Levenshtein: letters missing, added, wrong, or two neighbours swapped. */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1
      let least = Math.min(at(last, j) + 1, at(row, j - 1) + 1, at(last, j - 1) + cost)
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (swapped) least = Math.min(least, at(beforeLast, j - 2) + 1)
      row.push(least)
    }
    beforeLast = last
    last = row
  }
  return at(last, b.length)
}

const at = (row: readonly number[], index: number): number => row[index] ?? Number.POSITIVE_INFINITY
