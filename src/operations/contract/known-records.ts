import type { z } from 'zod'
import { archetypeAnswerSchema, categoricalArchetypes, ordinalArchetypes } from '../../base/contract/archetype.ts'
import { biomarkerAnswerSchema } from '../../base/contract/biomarker.ts'
import { comparisonAnswerSchema, comparisonNames } from '../../base/contract/comparison.ts'
import { demographicAnswerSchema } from '../../base/contract/demographic.ts'
import { deviceInformationAnswerSchema } from '../../base/contract/device-information.ts'
import { scoreAnswerSchema, scoreTypes } from '../../base/contract/score.ts'
import { tagAnswerSchema } from '../../base/contract/tag.ts'
import { trendAnswerSchema } from '../../base/contract/trend.ts'
import { RecordExaminer } from '../../pipeline/transfer/examine-records.ts'
import { foldedPath, type KindRule, type KnownRecords, type Misfit } from '../../pipeline/transfer/misfits.ts'
import type { Fields, PulledStream } from '../../pipeline/transfer/stream.ts'
import { biomarkerForms } from '../../service/derive/model/biomarker-catalogue.ts'
import { factorUnits } from '../../service/derive/model/model.ts'

const unitsOf = (names: readonly string[], unit: string) => Object.fromEntries(names.map((name) => [name, unit]))
const biomarkerUnits = Object.fromEntries(Object.entries(biomarkerForms).map(([type, { unit }]) => [type, unit]))
const scoreUnits = unitsOf(scoreTypes, 'index')
const archetypeNames = [...Object.keys(ordinalArchetypes), ...categoricalArchetypes]

const kindsBy = (field: string, units: KindRule['units']): KindRule => ({ path: '', field, units })

const knownByStream: Readonly<Record<string, KnownRecords>> = {
  scores: {
    schema: scoreAnswerSchema,
    kinds: [kindsBy('type', scoreUnits), { path: 'factors[]', field: 'name', units: factorUnits }],
  },
  biomarkers: { schema: biomarkerAnswerSchema, kinds: [kindsBy('type', biomarkerUnits)] },
  archetypes: { schema: archetypeAnswerSchema, kinds: [kindsBy('name', unitsOf(archetypeNames, ''))] },
  trends: { schema: trendAnswerSchema, kinds: [kindsBy('name', { ...factorUnits, ...scoreUnits })] },
  comparisons: {
    schema: comparisonAnswerSchema,
    kinds: [
      kindsBy('name', {
        ...Object.fromEntries(comparisonNames.map((name) => [name, biomarkerUnits[name] ?? ''])),
        ...scoreUnits,
      }),
    ],
  },
  tags: { schema: tagAnswerSchema },
  demographics: { schema: demographicAnswerSchema },
  'device-information': { schema: deviceInformationAnswerSchema },
}

/** The records that the specification describes. A stream of the user's own is known by the schema that receives it. */
export const knownRecordsOf = ({ name, schema }: PulledStream): KnownRecords => knownByStream[name] ?? { schema }

/** `quarantined`: the stream's own schema refuses the record. `range` and `form` speak of values, which a pull does not look at. */
export type ContractMisfit =
  | Misfit
  | { readonly what: 'range' | 'form' | 'quarantined'; readonly path: string; readonly detail: string }

const MISFITS_MAX = 200

/** Whether words of the stream's records may describe a person: then none is shown. */
export const isPersonal = (stream: PulledStream): boolean => knownRecordsOf(stream).kinds === undefined

/** Each way in which one of the records differs, once. */
export function misfitsOf(stream: PulledStream, records: readonly Fields[]): readonly ContractMisfit[] {
  const known = knownRecordsOf(stream)
  const examiner = new RecordExaminer(known)
  const found = new Map<string, ContractMisfit>()
  for (const record of records) {
    const refused = stream.schema.safeParse(record).error?.issues[0]
    const misfits: ContractMisfit[] = [
      ...examiner.examine(record),
      ...(known.schema.safeParse(record).error?.issues ?? []).flatMap(misfitOfValue),
      ...(refused ? [{ what: 'quarantined' as const, path: foldedPath(refused.path), detail: '' }] : []),
    ]
    for (const misfit of misfits)
      if (found.size < MISFITS_MAX) found.set(`${misfit.what} ${misfit.path} ${misfit.detail}`, misfit)
  }
  return [...found.values()]
}

function misfitOfValue(issue: z.core.$ZodIssue): readonly ContractMisfit[] {
  const path = foldedPath(issue.path)
  if (issue.code === 'too_big' || issue.code === 'too_small') return [{ what: 'range', path, detail: '' }]
  return issue.code === 'invalid_format' ? [{ what: 'form', path, detail: issue.format }] : []
}
