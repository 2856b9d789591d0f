import leven from 'leven'

/** The known word that a mistyped word most likely means, if a known word is near enough. */
export function closestWord(word: string, known: readonly string[]): string | undefined {
  const ranked = known
    .map((candidate) => ({ candidate, distance: editDistance(word, candidate) }))
    .filter(({ candidate, distance }) => distance > 0 && distance <= editDistanceMax(word, candidate))
    .sort((a, b) => a.distance - b.distance)
  return ranked[0]?.candidate
}

/** A short word may differ by one letter only: with two, PGPORT would be taken for PORT. */
const editDistanceMax = (word: string, candidate: string) => (Math.min(word.length, candidate.length) <= 4 ? 1 : 2)

/** Levenshtein distance, except that the same letters in another order are one mistake: PROT for PORT. */
function editDistance(word: string, candidate: string): number {
  const distance = leven(word, candidate, { maxDistance: 3 })
  return distance === 2 && sortedLetters(word) === sortedLetters(candidate) ? 1 : distance
}

const sortedLetters = (word: string) => [...word].sort().join('')
