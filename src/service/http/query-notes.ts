import { closestWord } from '../../base/text/closest-word.ts'

/** The header that lists the parts of a query without effect; absent where there are none. */
export const QUERY_NOTES_HEADER = 'query-notes'

type KnownQuery = {
  readonly parameters: readonly string[]
  /** By parameter, the words that can match a record; where a parameter is absent, any word can. */
  readonly words: Readonly<Record<string, readonly string[]>>
}

const notesMax = 10

/**
 * Parameters that the operation does not take, and words that match no record, each with the known word that is nearly the
 * same. They are no errors: other services with this interface may know them, and a word that matches nothing is answered
 * with nothing.
 */
export function queryNotes(query: Readonly<Record<string, string | string[]>>, known: KnownQuery): string | undefined {
  const notes: string[] = []
  for (const [name, value] of Object.entries(query)) {
    if (notes.length >= notesMax) break
    if (!known.parameters.includes(name)) {
      notes.push(
        `there is no parameter ${isPlain(name) ? `"${name}"` : 'of a name that was sent'}${nearMiss(name, known.parameters)}`,
      )
      continue
    }
    const words = known.words[name]
    const strange = words ? [value].flat().filter((word) => !words.includes(word)) : []
    notes.push(
      ...strange
        .slice(0, notesMax)
        .map(
          (word) => `${name} knows no ${isPlain(word) ? `"${word}"` : 'word that was sent'}${nearMiss(word, words)}`,
        ),
    )
  }
  return notes.length === 0 ? undefined : notes.slice(0, notesMax).join('; ')
}

/** A header holds plain words only. */
const isPlain = (text: string) => /^[\w.-]{1,64}$/.test(text)

function nearMiss(word: string, known: readonly string[] = []): string {
  if (!isPlain(word)) return ''
  const sameLetters = known.find((one) => one.toLowerCase() === word.toLowerCase())
  const near = sameLetters ?? closestWord(word, known) ?? known.find((one) => one.startsWith(word) && word.length > 3)
  return near === undefined ? '' : `, is "${near}" meant?`
}
