import { z } from 'zod'
import { instantSchema, parseInstant } from './instant.ts'
import { textSchema } from './text.ts'

/**
 * The window of a query. Both ends belong to it; a record matches when its own period touches it; an absent end is
 * unbounded. So a client that asks for two neighbouring windows may receive one record twice.
 */
export const windowQueryShape = {
  startDateTime: instantSchema.optional(),
  endDateTime: instantSchema.optional(),
}

type WindowQuery = { startDateTime?: string | undefined; endDateTime?: string | undefined }

/** Adds the rule that ties the two ends together; shapes alone cannot say it. */
export function withWindowOrder<Schema extends z.ZodType<WindowQuery>>(schema: Schema): Schema {
  return schema.refine((query) => endsAfterStart(query.startDateTime, query.endDateTime), {
    path: ['endDateTime'],
    error: 'must not lie before startDateTime',
    when: isObject,
  })
}

/** Lets a rule about two fields speak even where a third one is at fault, so that every fault is named at once. */
export function isObject(payload: { value: unknown }): boolean {
  return typeof payload.value === 'object' && payload.value !== null && !Array.isArray(payload.value)
}

/** True as well where an end is absent or no date-time: that is another rule's business. */
export function endsAfterStart(startText: unknown, endText: unknown): boolean {
  const spanMs = spanMsOf(startText, endText)
  return spanMs === undefined || spanMs >= 0
}

export function spanMsOf(startText: unknown, endText: unknown): number | undefined {
  if (typeof startText !== 'string' || typeof endText !== 'string') return undefined
  const [start, end] = [parseInstant(startText), parseInstant(endText)]
  return start && end && end.epochMs - start.epochMs
}

/** `a,b`, repeated and indexed forms arrive here as one list already. An unknown word matches nothing. */
export const wordsSchema = z.array(textSchema(100)).max(100)

export const tagQuerySchema = withWindowOrder(
  z.object({ ...windowQueryShape, types: wordsSchema.optional(), categories: wordsSchema.optional() }),
)

/** The names under which a query's list may arrive, by the name it is known under inside. */
export const listParameters = ['types', 'categories', 'category', 'name', 'periodicity', 'version'] as const

export function periodicitiesSchema<const Words extends readonly [string, ...string[]]>(words: Words) {
  return z.array(z.enum(words, { error: `must be one of ${words.join(', ')}` })).max(10)
}
