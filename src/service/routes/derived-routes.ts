import { z } from 'zod'
import {
  archetypeAnswerSchema,
  archetypeQuerySchema,
  categoricalArchetypes,
  ordinalArchetypes,
} from '../../base/contract/archetype.ts'
import { biomarkerAnswerSchema, biomarkerQuerySchema } from '../../base/contract/biomarker.ts'
import {
  comparisonAnswerSchema,
  comparisonCategories,
  comparisonNames,
  comparisonQuerySchema,
} from '../../base/contract/comparison.ts'
import { DERIVATION_STATE_HEADER, type DerivedKind, derivationStates } from '../../base/contract/derivation-state.ts'
import { operations } from '../../base/contract/operations.ts'
import { scoreAnswerSchema, scoreQuerySchema, scoreTypes } from '../../base/contract/score.ts'
import { trendAnswerSchema, trendCategories, trendQuerySchema } from '../../base/contract/trend.ts'
import type { RouteAnswer } from '../../web/route.ts'
import { biomarkerForms } from '../derive/model/biomarker-catalogue.ts'
import { factorNames } from '../derive/model/model.ts'
import { etagOf, heldTag } from '../http/etag.ts'
import { mergedFilter, requestedRangeOf } from '../http/query-parameters.ts'
import { unauthorized, unknownProfile } from '../http/request-error.ts'
import { defineRoute, type RouteCall, type ServiceRoute } from '../http/service-route.ts'
import { answerState } from '../recompute/answer-state.ts'
import type { DerivedFilter, ProfileReference } from '../store/derived-reader.ts'

/** The fields that a query of any kind may hold; the kind's own schema says which of them it takes. */
type DerivedQuery = {
  startDateTime?: string | undefined
  endDateTime?: string | undefined
  types?: string[] | undefined
  name?: string[] | undefined
  categories?: string[] | undefined
  category?: string[] | undefined
  periodicity?: string[] | undefined
  version?: string[] | undefined
}

type DerivedSchemas = { query: z.ZodType<DerivedQuery>; answer: z.ZodType; words: Record<string, readonly string[]> }

type RecordWords = {
  names: readonly string[]
  categories?: readonly string[]
  /** The words that a record can have and a query can ask for. A score is of a day, though it has no such field. */
  periodicities: readonly ('daily' | 'weekly')[]
}

/** Names and categories have two parameters each. */
const wordsOf = ({ names, categories = [], periodicities }: RecordWords) => ({
  types: names,
  name: names,
  ...(categories.length > 0 ? { categories, category: categories } : {}),
  periodicity: periodicities,
})

const schemasByKind: Readonly<Record<DerivedKind, DerivedSchemas>> = {
  score: {
    query: scoreQuerySchema,
    answer: scoreAnswerSchema,
    words: wordsOf({ names: scoreTypes, periodicities: ['daily'] }),
  },
  biomarker: {
    query: biomarkerQuerySchema,
    answer: biomarkerAnswerSchema,
    words: wordsOf({
      names: Object.keys(biomarkerForms),
      categories: Object.values(biomarkerForms).map(({ category }) => category),
      periodicities: ['daily', 'weekly'],
    }),
  },
  archetype: {
    query: archetypeQuerySchema,
    answer: archetypeAnswerSchema,
    words: wordsOf({
      names: [...Object.keys(ordinalArchetypes), ...categoricalArchetypes],
      periodicities: ['weekly'],
    }),
  },
  trend: {
    query: trendQuerySchema,
    answer: trendAnswerSchema,
    words: wordsOf({
      names: [...scoreTypes, ...factorNames],
      categories: trendCategories,
      periodicities: ['weekly'],
    }),
  },
  comparison: {
    query: comparisonQuerySchema,
    answer: comparisonAnswerSchema,
    words: wordsOf({ names: comparisonNames, categories: comparisonCategories, periodicities: ['daily'] }),
  },
}

const kinds = Object.keys(schemasByKind) as DerivedKind[] // the keys of a literal are its kinds

/** The headers of a derived answer, and the header that asks for it only if it changed. */
const headers = {
  request: { 'if-none-match': { description: 'Tags of answers that the caller holds', schema: { type: 'string' } } },
  answer: {
    etag: {
      description: 'Changes with every change of the derived records of the profile',
      schema: { type: 'string' },
    },
    [DERIVATION_STATE_HEADER]: {
      description: 'Whether changes that the service has acknowledged are still to be derived for the asked range',
      schema: { enum: derivationStates },
    },
  },
}

/** Two routes for each kind: for the profile itself, and for an account by the profile's externalId. */
export const derivedRoutes: ServiceRoute[] = kinds.flatMap((kind) => {
  const { query, answer, words } = schemasByKind[kind]
  const read = { query, words, answers: { 200: z.array(answer), 204: null, 304: null }, headers }
  return [
    defineRoute({
      ...operations[`${kind}s`],
      ...read,
      summary: `Get ${kind}s, newest first`,
      async run(call) {
        const found = await readDerived(call, kind, { profileId: call.profileId })
        if (found === 'unknown') throw unauthorized()
        return found
      },
    }),
    defineRoute({
      ...operations[`${kind}sOf`],
      ...read,
      summary: `Get ${kind}s of a profile, newest first`,
      async run(call) {
        const { accountId, externalId } = call
        const found = await readDerived(call, kind, { accountId, externalId })
        if (found === 'unknown') throw unknownProfile()
        return found
      },
    }),
  ]
})

/** 304 when the caller holds the answer, 204 when there is no record; each with the tag and the state of the answer. */
async function readDerived(
  { context, query, request }: RouteCall<unknown, DerivedQuery>,
  kind: DerivedKind,
  profile: ProfileReference,
): Promise<RouteAnswer | 'unknown'> {
  const filter = filterOf(kind, query)
  const held = request.headers['if-none-match']
  const heldTagOf = (revision: string) => heldTag(held, etagOf(revision))
  const isHeld = held === undefined ? undefined : (revision: string) => heldTagOf(revision) !== undefined
  const found = await context.derived.read({ profile, kind, filter, isHeld })
  if (found === 'unknown') return 'unknown'
  const { progress, json } = found
  const state = answerState(progress, { kind, range: filter, nowMs: context.clock() })
  const tag = (json === 'held' && heldTagOf(progress.revision)) || etagOf(progress.revision)
  const answerHeaders = { etag: tag, [DERIVATION_STATE_HEADER]: state, vary: 'accept-encoding' }
  if (json === 'held') return { status: 304, headers: answerHeaders }
  return json === null ? { status: 204, headers: answerHeaders } : { status: 200, bytes: json, headers: answerHeaders }
}

/** `types` is another name of `name`, and `categories` of `category`; where a kind takes both, their values are joined. */
function filterOf(kind: DerivedKind, query: DerivedQuery): DerivedFilter {
  const isEveryScore = kind === 'score' && query.periodicity?.includes('daily')
  return {
    ...requestedRangeOf(query),
    names: mergedFilter(query.types, query.name),
    categories: mergedFilter(query.categories, query.category),
    periodicities: isEveryScore ? undefined : mergedFilter(query.periodicity),
    versions: query.version?.length ? query.version.map(Number) : undefined,
  }
}
