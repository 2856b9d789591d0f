import { z } from 'zod'
import { UsageProblem } from '../../base/errors.ts'
import { hexDigestOf } from '../../base/text/digest.ts'
import { readQuery } from '../../pipeline/warehouse/reports/read-query.ts'
import { type DashboardContext, defineRead, type Visit } from '../dashboard-context.ts'
import { savedQuestions } from '../saved-questions.ts'

/** A request line is no longer. */
const SQL_LENGTH_MAX = 6000
const ROWS_MAX = 1000

export type SavedQuestionsAnswer = typeof savedQuestions
export type QuestionAnswer = Awaited<ReturnType<typeof answerQuestion>>

/** Runs one statement as the reader role; Postgres gives it up after twenty seconds. */
async function answerQuestion({ reading, audit }: DashboardContext, { sql }: { sql: string }, visit: Visit) {
  const { actor, values, masked } = visit
  if (!values)
    throw new UsageProblem('Answers may hold health values.', {
      hint: 'Switch “Health values” on: each question is recorded.',
    })
  if (masked) throw new UsageProblem('Answers may hold names.', { hint: 'Switch “Mask names” off to ask.' })
  const statement = sql.trim().replace(/;\s*$/, '')
  if (statement === '') throw new UsageProblem('There is no question.', { hint: 'Write one SQL statement.' })
  // A statement may name a person, whom an erasure must not leave behind: its digest shows which questions are equal.
  const digest = hexDigestOf(statement, 16)
  await audit.record({ who: actor.name, role: actor.role, action: 'ask question', what: { digest } })
  const startedAtMs = performance.now()
  const rows: Array<ReadonlyArray<unknown>> = []
  let columns: readonly string[] = []
  for await (const portion of readQuery(reading, statement)) {
    columns = portion.columns
    rows.push(...portion.rows)
    if (rows.length > ROWS_MAX) break
  }
  return {
    columns,
    rows: rows.slice(0, ROWS_MAX),
    isCut: rows.length > ROWS_MAX,
    tookMs: Math.round(performance.now() - startedAtMs),
  }
}

export const questionRoutes = [
  defineRead({ name: 'questions', query: z.object({}), answer: async () => savedQuestions }),
  defineRead({
    name: 'question',
    query: z.object({ sql: z.string().max(SQL_LENGTH_MAX, 'A question may have 6,000 characters.') }),
    answer: answerQuestion,
  }),
]
