import type { z } from 'zod'
import { archetypeAnswerSchema, categoricalArchetypes, ordinalArchetypes } from '../../base/contract/archetype.ts'
import { biomarkerAnswerSchema } from '../../base/contract/biomarker.ts'
import { comparisonAnswerSchema, comparisonNames } from '../../base/contract/comparison.ts'
import { demographicAnswerSchema } from '../../base/contract/demographic.ts'
import { deviceInformationAnswerSchema } from '../../base/contract/device-information.ts'
import { scoreAnswerSchema, scoreTypes } from '../../base/contract/score.ts'
import { tagAnswerSchema } from '../../base/contract/tag.ts'
import { trendAnswerSchema } from '../../base/contract/trend.ts'
import type { Fields, PulledStream } from '../../pipeline/transfer/stream.ts'
import { biomarkerForms } from '../../service/derive/model/biomarker-catalogue.ts'
import { factorUnits } from '../../service/derive/model/model.ts'
import { foldedPath, foldedWord, jsonTypeOf } from './contract-point.ts'

/** The known shape of a stream's records. */
type KnownRecords = {
  readonly schema: z.ZodType
  /** The field that names a record's kind, with the kinds and their units. Without kinds, words may describe a person. */
  readonly kinds?: { readonly field: string; readonly units: Readonly<Record<string, string>> }
}

const unitsOf = (names: readonly string[], unit: string) => Object.fromEntries(names.map((name) => [name, unit]))
const biomarkerUnits = Object.fromEntries(Object.entries(biomarkerForms).map(([type, { unit }]) => [type, unit]))
const scoreUnits = unitsOf(scoreTypes, 'index')
const archetypeNames = [...Object.keys(ordinalArchetypes), ...categoricalArchetypes]

const knownByStream: Readonly<Record<string, KnownRecords>> = {
  scores: { schema: scoreAnswerSchema, kinds: { field: 'type', units: scoreUnits } },
  biomarkers: { schema: biomarkerAnswerSchema, kinds: { field: 'type', units: biomarkerUnits } },
  archetypes: { schema: archetypeAnswerSchema, kinds: { field: 'name', units: unitsOf(archetypeNames, '') } },
  trends: { schema: trendAnswerSchema, kinds: { field: 'name', units: { ...factorUnits, ...scoreUnits } } },
  comparisons: {
    schema: comparisonAnswerSchema,
    kinds: {
      field: 'name',
      units: {
        ...Object.fromEntries(comparisonNames.map((name) => [name, biomarkerUnits[name] ?? ''])),
        ...scoreUnits,
      },
    },
  },
  tags: { schema: tagAnswerSchema },
  demographics: { schema: demographicAnswerSchema },
  'device-information': { schema: deviceInformationAnswerSchema },
}

/** A stream of the user's own is known by the schema that receives it. */
const knownOf = ({ name, schema }: PulledStream): KnownRecords => knownByStream[name] ?? { schema }

/**
 * How records differ from what is known of them, by path and without a value. `quarantined`: the stream's own schema refuses the
 * record. `kind` and `unit` hold the words.
 */
export type Misfit = {
  readonly what:
    | 'extra'
    | 'missing'
    | 'null'
    | 'type'
    | 'word'
    | 'case'
    | 'range'
    | 'form'
    | 'quarantined'
    | 'kind'
    | 'unit'
  readonly path: string
  readonly detail: string
}

const MISFITS_MAX = 200

/** Whether words of the stream's records may describe a person: then none is shown. */
export const isPersonal = (stream: PulledStream): boolean => knownOf(stream).kinds === undefined

/** Each way in which one of the records differs, once. */
export function misfitsOf(stream: PulledStream, records: readonly Fields[]): readonly Misfit[] {
  const known = knownOf(stream)
  const isMasked = isPersonal(stream)
  const found = new Map<string, Misfit>()
  const add = (misfit: Misfit) => {
    if (found.size < MISFITS_MAX) found.set(`${misfit.what} ${misfit.path} ${misfit.detail}`, misfit)
  }
  for (const record of records) {
    const issues = known.schema.safeParse(record).error?.issues ?? []
    for (const issue of issues)
      for (const misfit of misfitsOfIssue(record, issue)) add(isMasked ? { ...misfit, detail: '' } : misfit)
    const refused = stream.schema.safeParse(record).error?.issues[0]
    if (refused) add({ what: 'quarantined', path: foldedPath(refused.path), detail: '' })
    for (const misfit of kindMisfits(known, record)) add(misfit)
  }
  return [...found.values()]
}

function misfitsOfIssue(record: Fields, issue: z.core.$ZodIssue): readonly Misfit[] {
  const path = foldedPath(issue.path)
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({ what: 'extra', path: foldedPath([...issue.path, key]), detail: '' }))
  const value = issue.path.reduce<unknown>((part, name) => Object(part)[name], record)
  if (value === undefined) return [{ what: 'missing', path, detail: '' }]
  if (value === null) return [{ what: 'null', path, detail: '' }]
  if (issue.code === 'invalid_value' && typeof value === 'string') {
    const same = issue.values.some((word) => String(word).toLowerCase() === value.toLowerCase())
    return [{ what: same ? 'case' : 'word', path, detail: foldedWord(value) }]
  }
  if (issue.code === 'too_big' || issue.code === 'too_small') return [{ what: 'range', path, detail: '' }]
  if (issue.code === 'invalid_format') return [{ what: 'form', path, detail: issue.format }]
  return [{ what: 'type', path, detail: jsonTypeOf(value) }]
}

function kindMisfits({ kinds }: KnownRecords, record: Fields): readonly Misfit[] {
  const kind = record[kinds?.field ?? '']
  if (kinds === undefined || typeof kind !== 'string') return []
  const misfits: Misfit[] = []
  const unit = kinds.units[kind]
  if (unit === undefined) misfits.push({ what: 'kind', path: kinds.field, detail: foldedWord(kind) })
  else misfits.push(...unitMisfits('unit', { kind, unit: record['unit'], expected: unit }))
  for (const factor of [record['factors'] ?? []].flat().slice(0, 50)) {
    const { name, unit: given } = Object(factor)
    const expected = typeof name === 'string' ? (factorUnits as Readonly<Record<string, string>>)[name] : undefined
    if (expected === undefined) misfits.push({ what: 'kind', path: 'factors[].name', detail: foldedWord(String(name)) })
    else misfits.push(...unitMisfits('factors[].unit', { kind: name, unit: given, expected }))
  }
  return misfits
}

function unitMisfits(path: string, given: { kind: string; unit: unknown; expected: string }): readonly Misfit[] {
  const { kind, unit, expected } = given
  if (typeof unit !== 'string' || expected === '' || unit === expected) return []
  return [{ what: 'unit', path, detail: `${kind} in ${foldedWord(unit)}, not ${expected}` }]
}
