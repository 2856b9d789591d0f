import { isJsonObject } from '../../base/text/json.ts'
import { foldedName, foldedWord, jsonTypeOf } from '../../pipeline/transfer/misfits.ts'
import type { PulledStream } from '../../pipeline/transfer/stream.ts'
import { type Deviation, harmful, harmless, listed, recordsOf, type Seen } from './contract-point.ts'
import { isPersonal } from './known-records.ts'
import { wholeAnswers } from './stream-answers.ts'

/**
 * The shape of a stream's records, for a comparison another day: names of fields with their JSON types, the words of closed
 * lists, and the unit of each type. No value of a record is in it.
 */
export type StreamShape = {
  readonly records: boolean
  readonly fields: Readonly<Record<string, readonly string[]>>
  readonly words: Readonly<Record<string, readonly string[]>>
  readonly units: Readonly<Record<string, string>>
}

const FIELDS_MAX = 200
const WORDS_MAX = 100
const DEPTH_MAX = 4
const ELEMENTS_MAX = 50
/** Fields that hold a word of a closed list, and no measure of a person. */
const wordFields: readonly string[] = [
  'type',
  'category',
  'periodicity',
  'aggregation',
  'valueType',
  'dataType',
  'unit',
]
const kindFields: readonly string[] = ['type', 'name']

export function shapeOfStream(stream: PulledStream, seen: Seen): StreamShape {
  const records = wholeAnswers(stream, seen).flatMap(recordsOf)
  const fields = new Map<string, Set<string>>()
  const words = new Map<string, Set<string>>()
  const units = new Map<string, Set<string>>()
  const note = (map: Map<string, Set<string>>, key: string, value: string) => {
    const known = map.get(key)
    if (known) known.size < WORDS_MAX && known.add(value)
    else if (map.size < FIELDS_MAX) map.set(key, new Set([value]))
  }
  const isMasked = isPersonal(stream)
  const walk = (value: unknown, path: string, depth: number) => {
    if (depth > DEPTH_MAX) return
    if (Array.isArray(value)) for (const part of value.slice(0, ELEMENTS_MAX)) walk(part, `${path}[]`, depth + 1)
    if (!isJsonObject(value)) return
    for (const [key, part] of Object.entries(value).slice(0, FIELDS_MAX)) {
      const at = path === '' ? foldedName(key) : `${path}.${foldedName(key)}`
      note(fields, at, jsonTypeOf(part))
      if (!isMasked && wordFields.includes(key) && typeof part === 'string') note(words, at, foldedWord(part))
      walk(part, at, depth + 1)
    }
    const kind = kindFields.map((field) => value[field]).findLast((word) => typeof word === 'string')
    const { unit } = value
    if (!isMasked && typeof kind === 'string' && typeof unit === 'string')
      note(units, foldedWord(kind), foldedWord(unit))
  }
  for (const record of records) walk(record, '', 0)
  return {
    records: records.length > 0,
    fields: sortedLists(fields),
    words: sortedLists(words),
    units: Object.fromEntries([...units].toSorted().map(([kind, found]) => [kind, [...found].toSorted().join(' or ')])),
  }
}

const sortedLists = (map: ReadonlyMap<string, ReadonlySet<string>>) =>
  Object.fromEntries(
    [...map].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([key, found]) => [key, [...found].toSorted()]),
  )

/** The changes of a stream's records since their shape was saved. A stream without records says nothing. */
export function changesOfShape(stream: PulledStream, before: StreamShape, now: StreamShape): readonly Deviation[] {
  if (!before.records || !now.records) return []
  const columns = new Set(stream.columns.flatMap(({ from }) => from))
  const isColumn = (path: string) => columns.has(path)
  const isOther = (path: string) => !columns.has(path)
  const came = Object.keys(now.fields).filter((path) => !(path in before.fields))
  const gone = Object.keys(before.fields).filter((path) => !(path in now.fields))
  const retyped = Object.keys(now.fields).filter((path) => {
    const types = now.fields[path]?.filter((type) => type !== 'null') ?? []
    return path in before.fields && types.some((type) => !before.fields[path]?.includes(type))
  })
  const newWords = Object.entries(now.words).flatMap(([path, found]) =>
    path in before.words && !path.endsWith('unit') ? found.filter((word) => !before.words[path]?.includes(word)) : [],
  )
  const otherUnits = Object.keys(now.units).filter(
    (kind) => kind in before.units && before.units[kind] !== now.units[kind],
  )
  const spelled = newWords.filter((word) => isKnownInOtherCase(word, before))
  const further = newWords.filter((word) => !spelled.includes(word))
  const units = otherUnits.map((kind) => `${kind} in ${now.units[kind]}, not ${before.units[kind]}`)
  return [
    ...listed(harmless, 'fields that came:', came),
    ...listed(harmful, 'fields of a column that are gone:', gone.filter(isColumn)),
    ...listed(harmless, 'fields that are gone:', gone.filter(isOther)),
    ...listed(harmful, 'fields of a column with another type:', retyped.filter(isColumn)),
    ...listed(harmless, 'fields with another type:', retyped.filter(isOther)),
    ...listed(harmful, 'words in another case:', spelled),
    ...listed(harmless, 'words that came:', further),
    ...listed(harmful, 'units that changed:', units),
  ]
}

const isKnownInOtherCase = (word: string, { words }: StreamShape) =>
  Object.values(words).some((known) =>
    known.some((other) => other !== word && other.toLowerCase() === word.toLowerCase()),
  )
