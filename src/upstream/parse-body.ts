import type { z } from 'zod'
import { jsonOrUndefined } from '../text/json.ts'
import type { TimedResponse } from './sender.ts'

/** Parses the body of an answer and checks it against the schema; without a schema, any JSON will do. */
export function bodyParserOf<S extends z.ZodType>(schema: S): (timed: TimedResponse) => z.infer<S>
export function bodyParserOf(schema: undefined): (timed: TimedResponse) => unknown
export function bodyParserOf(schema: z.ZodType | undefined): (timed: TimedResponse) => unknown {
  return ({ response }) => {
    const value = jsonOf(response.body.toString('utf8'))
    if (schema === undefined) return value
    const { data, error } = schema.safeParse(value ?? {})
    if (error === undefined) return data
    throw new SyntaxError(`it lacks ${error.issues[0]?.path.join('.') || 'everything'}`)
  }
}

/** The stored tags, as upstream answers an upload. No code needs them, so any JSON is accepted. */
export function parseListBody({ response }: TimedResponse): readonly unknown[] {
  const value = jsonOf(response.body.toString('utf8'))
  return Array.isArray(value) ? value : value === undefined ? [] : [value]
}

function jsonOf(text: string): unknown {
  if (text.trim() === '') return undefined
  const value = jsonOrUndefined(text)
  if (value === undefined) throw new SyntaxError('not JSON')
  return value
}
