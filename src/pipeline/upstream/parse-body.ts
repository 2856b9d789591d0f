import type { z } from 'zod'
import { jsonOrUndefined } from '../../base/text/json.ts'
import { isErrorBody } from './answer-rules.ts'
import type { TimedResponse } from './sender.ts'

/** Parses the answer and checks it against the schema; without a schema, any JSON list or object will do. */
export function bodyParserOf<S extends z.ZodType>(schema: S): (timed: TimedResponse) => z.infer<S>
export function bodyParserOf(schema: undefined): (timed: TimedResponse) => unknown
export function bodyParserOf(schema: z.ZodType | undefined): (timed: TimedResponse) => unknown {
  return (answered) => {
    const value = jsonOf(answered)
    if (schema === undefined) return value
    const { data, error } = schema.safeParse(value)
    if (error === undefined) return data
    throw new SyntaxError(`it lacks ${error.issues[0]?.path.join('.') || 'everything'}`)
  }
}

/** An object or a list. A status that says it all counts as an object without keys. */
function jsonOf({ response, kind }: TimedResponse): object {
  if (kind === 'bare') return {}
  const text = response.body.toString('utf8')
  if (text.trim() === '') throw new SyntaxError('it is empty')
  const value = jsonOrUndefined(text)
  if (typeof value !== 'object' || value === null) throw new SyntaxError('it is no JSON list or object')
  if (isErrorBody(value)) throw new SyntaxError('it is the body of an error')
  return value
}
