import type { z } from 'zod'
import type { Answered } from './call.ts'

/** Makes one object of an answer: parsed and checked against what the contract needs of it. */
export function answerOf<S extends z.ZodType>(schema: S): (answered: Answered) => z.infer<S>
export function answerOf(schema: undefined): (answered: Answered) => unknown
export function answerOf(schema: z.ZodType | undefined): (answered: Answered) => unknown {
  return ({ answer }) => {
    const value = jsonOf(answer.body.toString('utf8'))
    if (schema === undefined) return value
    const { data, error } = schema.safeParse(value ?? {})
    if (error === undefined) return data
    throw new SyntaxError(`it lacks ${error.issues[0]?.path.join('.') || 'everything'}`)
  }
}

/** The stored list, as the tag uploads answer it; nothing needs it, so whatever came is taken. */
export function listOf({ answer }: Answered): readonly unknown[] {
  const value = jsonOf(answer.body.toString('utf8'))
  return Array.isArray(value) ? value : value === undefined ? [] : [value]
}

function jsonOf(text: string): unknown {
  if (text.trim() === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    // The parser's own message quotes the text.
    throw new SyntaxError('not JSON')
  }
}
