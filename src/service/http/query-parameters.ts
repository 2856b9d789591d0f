import { listParameters } from '../../base/contract/query-shapes.ts'
import { closestWord } from '../../base/text/closest-word.ts'
import { parseInstant } from '../../base/time/instant.ts'
import type { ClosedRange } from '../store/derived-reader.ts'

const instantParameters = new Set(['startDateTime', 'endDateTime'])
const listParameterNames = new Set<string>(listParameters)

/**
 * Normalizes a query: `types=a,b`, `types=a&types=b` and `types[0]=a&types[1]=b` all become `types: ['a', 'b']`. A plus
 * sign that was sent unescaped arrives as a space before the offset of a date-time; there, and in no other parameter, it
 * becomes a plus again.
 */
export function parseQueryString(query: unknown): Record<string, string | string[]> {
  const read: Record<string, string | string[]> = Object.create(null)
  for (const [key, value] of Object.entries(Object(query))) {
    const name = key.replace(/\[\d{0,4}\]$/, '')
    const values = (Array.isArray(value) ? value : [value]).map(String)
    if (listParameterNames.has(name)) {
      const words = values.flatMap((text) => text.split(',')).filter((word) => word !== '')
      read[name] = [...(read[name] ?? []), ...words]
    } else {
      const [value = ''] = values
      read[name] = values.length > 1 ? values : instantParameters.has(name) ? restorePlus(value) : value
    }
  }
  return read
}

function restorePlus(text: string): string {
  return text.replace(/(\d) (\d{2}:?\d{2})$/, '$1+$2')
}

/** Joins two lists of allowed values. An empty list filters nothing, like an absent one: undefined. */
export function mergedFilter(some: string[] | undefined, others?: string[]): string[] | undefined {
  const all = [...(some ?? []), ...(others ?? [])]
  return all.length === 0 ? undefined : all
}

export function requestedRangeOf(query: {
  startDateTime?: string | undefined
  endDateTime?: string | undefined
}): ClosedRange {
  const dateOf = (text: string | undefined) => {
    const instant = text === undefined ? undefined : parseInstant(text)
    return instant && new Date(instant.epochMs)
  }
  return { firstAt: dateOf(query.startDateTime), lastAt: dateOf(query.endDateTime) }
}

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
  const sameLetters = known.find((name) => name.toLowerCase() === word.toLowerCase())
  const near = sameLetters ?? closestWord(word, known) ?? known.find((name) => name.startsWith(word) && word.length > 3)
  return near === undefined ? '' : `, is "${near}" meant?`
}
