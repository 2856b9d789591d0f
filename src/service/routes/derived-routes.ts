import { z } from 'zod'
import { archetypeAnswerSchema, archetypeQuerySchema } from '../../contract/archetype.ts'
import { biomarkerAnswerSchema, biomarkerQuerySchema } from '../../contract/biomarker.ts'
import { comparisonAnswerSchema, comparisonQuerySchema } from '../../contract/comparison.ts'
import type { DerivedKind } from '../../contract/derived-kind.ts'
import { scoreAnswerSchema, scoreQuerySchema } from '../../contract/score.ts'
import { trendAnswerSchema, trendQuerySchema } from '../../contract/trend.ts'
import { mergedFilter, requestedRangeOf } from '../query-parameters.ts'
import { unauthorized, unknownProfile } from '../request-error.ts'
import { defineRoute, type RouteAnswer, type RouteDefinition } from '../route.ts'
import type { DerivedFilter } from '../store/derived-reader.ts'

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

type DerivedSchemas = { query: z.ZodType<DerivedQuery>; answer: z.ZodType }

const schemasByKind: Readonly<Record<DerivedKind, DerivedSchemas>> = {
  score: { query: scoreQuerySchema, answer: scoreAnswerSchema },
  biomarker: { query: biomarkerQuerySchema, answer: biomarkerAnswerSchema },
  archetype: { query: archetypeQuerySchema, answer: archetypeAnswerSchema },
  trend: { query: trendQuerySchema, answer: trendAnswerSchema },
  comparison: { query: comparisonQuerySchema, answer: comparisonAnswerSchema },
}

const kinds = Object.keys(schemasByKind) as DerivedKind[] // the keys of a literal are its kinds

/** Two routes for each kind: for the profile itself, and for an account by the profile's externalId. */
export const derivedRoutes: RouteDefinition[] = kinds.flatMap((kind) => {
  const { query, answer } = schemasByKind[kind]
  const answers = { 200: z.array(answer), 204: null }
  return [
    defineRoute({
      operation: `${kind}s`,
      summary: `Get ${kind}s, newest first`,
      query,
      answers,
      async run({ context, profileId, query }) {
        const found = await context.derived.read({ profile: { profileId }, kind, filter: filterOf(query) })
        if (found === 'unknown') throw unauthorized()
        return derivedAnswer(found)
      },
    }),
    defineRoute({
      operation: `${kind}sOf`,
      summary: `Get ${kind}s of a profile, newest first`,
      query,
      answers,
      async run({ context, accountId, externalId, query }) {
        const found = await context.derived.read({ profile: { accountId, externalId }, kind, filter: filterOf(query) })
        if (found === 'unknown') throw unknownProfile()
        return derivedAnswer(found)
      },
    }),
  ]
})

function derivedAnswer(found: Buffer | undefined): RouteAnswer {
  return found === undefined ? { status: 204 } : { status: 200, bytes: found }
}

/** `types` is another name of `name`, and `categories` of `category`; where a kind takes both, their values are joined. */
function filterOf(query: DerivedQuery): DerivedFilter {
  return {
    ...requestedRangeOf(query),
    names: mergedFilter(query.types, query.name),
    categories: mergedFilter(query.categories, query.category),
    periodicities: mergedFilter(query.periodicity),
    versions: query.version?.length ? query.version.map(Number) : undefined,
  }
}
