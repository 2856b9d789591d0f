import { z } from 'zod'
import { archetypeAnswerSchema, archetypeQuerySchema } from '../../contract/archetype.ts'
import { biomarkerAnswerSchema, biomarkerQuerySchema } from '../../contract/biomarker.ts'
import { comparisonAnswerSchema, comparisonQuerySchema } from '../../contract/comparison.ts'
import { parseInstant } from '../../contract/instant.ts'
import type { OperationName } from '../../contract/operations.ts'
import { scoreAnswerSchema, scoreQuerySchema } from '../../contract/score.ts'
import { trendAnswerSchema, trendQuerySchema } from '../../contract/trend.ts'
import { unauthorized, unknownProfile } from '../refusal.ts'
import { type Answer, defineRoute, type RouteDefinition } from '../route.ts'
import type { DerivedFilter, DerivedKind, ReadWindow } from '../store/reads.ts'

/** What a query of any of the five kinds may hold; each kind's own schema says which of it. */
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

type DerivedKindRoutes = {
  kind: DerivedKind
  words: string
  own: OperationName
  ofProfile: OperationName
  query: z.ZodType<DerivedQuery>
  answer: z.ZodType
}

const kinds: readonly DerivedKindRoutes[] = [
  {
    kind: 'score',
    words: 'scores',
    own: 'scores',
    ofProfile: 'scoresOf',
    query: scoreQuerySchema,
    answer: scoreAnswerSchema,
  },
  {
    kind: 'biomarker',
    words: 'biomarkers',
    own: 'biomarkers',
    ofProfile: 'biomarkersOf',
    query: biomarkerQuerySchema,
    answer: biomarkerAnswerSchema,
  },
  {
    kind: 'archetype',
    words: 'archetypes',
    own: 'archetypes',
    ofProfile: 'archetypesOf',
    query: archetypeQuerySchema,
    answer: archetypeAnswerSchema,
  },
  {
    kind: 'trend',
    words: 'trends',
    own: 'trends',
    ofProfile: 'trendsOf',
    query: trendQuerySchema,
    answer: trendAnswerSchema,
  },
  {
    kind: 'comparison',
    words: 'comparisons',
    own: 'comparisons',
    ofProfile: 'comparisonsOf',
    query: comparisonQuerySchema,
    answer: comparisonAnswerSchema,
  },
]

export const derivedRoutes: RouteDefinition[] = kinds.flatMap(({ kind, words, own, ofProfile, query, answer }) => [
  defineRoute({
    operation: own,
    summary: `Get ${words}, newest first`,
    query,
    answers: { 200: z.array(answer), 204: null },
    async run({ room, profileId, query }) {
      const found = await room.derived.read({ of: { profileId }, kind, filter: filterOf(query) })
      if (found === 'unknown') throw unauthorized()
      return answerWith(found)
    },
  }),
  defineRoute({
    operation: ofProfile,
    summary: `Get ${words} of a profile, newest first`,
    query,
    answers: { 200: z.array(answer), 204: null },
    async run({ room, accountId, externalId, query }) {
      const found = await room.derived.read({ of: { accountId, externalId }, kind, filter: filterOf(query) })
      if (found === 'unknown') throw unknownProfile()
      return answerWith(found)
    },
  }),
])

function answerWith(found: Buffer | undefined): Answer {
  return found === undefined ? { status: 204 } : { status: 200, bytes: found }
}

/** `types` stands for `name` and `categories` for `category` wherever the latter are known, and may be mixed with them. */
function filterOf(query: DerivedQuery): DerivedFilter {
  return {
    ...windowOf(query),
    names: joined(query.types, query.name),
    categories: joined(query.categories, query.category),
    periodicities: joined(query.periodicity),
    versions: query.version?.length ? query.version.map(Number) : undefined,
  }
}

/** An empty list filters nothing, as an absent one. */
export function joined(some: string[] | undefined, others?: string[]): string[] | undefined {
  const all = [...(some ?? []), ...(others ?? [])]
  return all.length === 0 ? undefined : all
}

export function windowOf(query: DerivedQuery): ReadWindow {
  const date = (text: string | undefined) => {
    const instant = text === undefined ? undefined : parseInstant(text)
    return instant && new Date(instant.epochMs)
  }
  return { from: date(query.startDateTime), to: date(query.endDateTime) }
}
