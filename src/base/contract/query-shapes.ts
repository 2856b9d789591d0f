import { z } from 'zod'
import { isJsonObject } from '../text/json.ts'
import { parseInstant } from '../time/instant.ts'
import { instantDescription, instantSchema } from './instant-schemas.ts'
import { textSchema } from './text.ts'

function windowEnd(record: 'first' | 'last'): string {
  return `${instantDescription}. Inclusive; absent: the window has no end here, and the ${record} record is in it`
}

/**
 * The window of a query. Both ends are inclusive, and a missing end is unbounded. A record matches when its own period
 * touches the window, so a client that asks for two neighbouring windows may receive one record twice.
 */
export const windowQueryShape = {
  startDateTime: instantSchema.optional().meta({ description: windowEnd('first') }),
  endDateTime: instantSchema.optional().meta({ description: windowEnd('last') }),
}

type WindowQuery = { startDateTime?: string | undefined; endDateTime?: string | undefined }

/** Adds the rule that the end does not lie before the start, which a zod shape alone cannot say. */
export function withOrderedEnds<Schema extends z.ZodType<WindowQuery>>(schema: Schema): Schema {
  return schema.refine((query) => endsAfterStart(query.startDateTime, query.endDateTime), {
    path: ['endDateTime'],
    error: 'must not lie before startDateTime',
    when: isObject,
  })
}

/** Runs a rule about two fields even when a third field is invalid, so that the answer names every fault at once. */
export function isObject(payload: { value: unknown }): boolean {
  return isJsonObject(payload.value)
}

/** True also when an end is missing or is no date-time: other rules check that. */
export function endsAfterStart(startText: unknown, endText: unknown): boolean {
  const spanMs = durationMsOf(startText, endText)
  return spanMs === undefined || spanMs >= 0
}

export function durationMsOf(startText: unknown, endText: unknown): number | undefined {
  if (typeof startText !== 'string' || typeof endText !== 'string') return undefined
  const [start, end] = [parseInstant(startText), parseInstant(endText)]
  return start && end && end.epochMs - start.epochMs
}

/** The list of one parameter; `a,b`, repeated and indexed forms are joined before. An unknown word matches no record. */
export const wordListSchema = z.array(textSchema(100)).max(100)

/** The query parameters that hold a list. */
export const listParameters = ['types', 'categories', 'category', 'name', 'periodicity', 'version'] as const

/** The periods that a query can ask for; records of other periods come with a query that names none. */
const askedPeriodicities = ['daily', 'weekly'] as const

/** Every kind takes both words: one that has no records of the period is answered with nothing. */
export const periodicityQueryShape = {
  periodicity: z
    .array(z.enum(askedPeriodicities, { error: `must be one of ${askedPeriodicities.join(', ')}` }))
    .max(10)
    .optional(),
}
