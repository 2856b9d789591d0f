import { z } from 'zod'
import { UsageProblem } from '../../base/errors.ts'
import { createSemaphore } from '../../base/semaphore.ts'
import { hexDigestOf } from '../../base/text/digest.ts'
import { SECOND } from '../../base/time/units.ts'
import { readQuery } from '../../pipeline/warehouse/reports/read-query.ts'
import type { Asker } from '../../web/page-questions.ts'
import { type DashboardContext, defineRead, type Visit } from '../dashboard-context.ts'

const SQL_LENGTH_MAX = 6000
const ROWS_MAX = 1000
const BYTES_MAX = 8 * 1024 * 1024
const TIMEOUT_MS = 20 * SECOND
const ANSWERED_AT_ONCE_MAX = 2
/** A little longer than the questions before it may take. */
const TURN_TIMEOUT_MS = TIMEOUT_MS + 5 * SECOND

export type SavedQuestionsAnswer = typeof savedQuestions
export type QuestionAnswer = Awaited<ReturnType<typeof answerQuestion>>

/** Answers one query as the role for questions. The query ends when its asker goes away, or the dashboard closes. */
async function answerQuestion(context: DashboardContext, { sql }: { sql: string }, visit: Visit & Asker) {
  const { reading: pool, audit, addresses } = context
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
  const limits = { timeoutMs: TIMEOUT_MS, rowsAtOnce: ROWS_MAX + 1, bytesMax: BYTES_MAX }
  const signal = AbortSignal.any([context.signal, visit.gone])
  const question = { text: statement, parsesJson: false, signal, ...limits }
  const answer = readQuery({ pool, databaseUrl: addresses.databaseUrl, keys: addresses.questionsKeys }, question)
  const { value } = await answer.next()
  await answer.return(undefined)
  const { columns = [], rows = [] } = value ?? {}
  return {
    columns,
    rows: rows.slice(0, ROWS_MAX),
    isCut: rows.length > ROWS_MAX,
    tookMs: Math.round(performance.now() - startedAtMs),
  }
}

/** Visitors take turns. */
const createTurns = () => {
  const semaphore = createSemaphore<string, { group: string; signal: AbortSignal }>({ permits: ANSWERED_AT_ONCE_MAX })
  return async <T>({ actor, gone }: Visit & Asker, work: () => Promise<T>): Promise<T> => {
    const signal = AbortSignal.any([gone, AbortSignal.timeout(TURN_TIMEOUT_MS)])
    const release = await semaphore.acquire({ group: actor.name, signal })
    if (!release)
      throw new UsageProblem('Other questions are being answered.', { hint: 'Ask again when their answers are there.' })
    return work().finally(release)
  }
}

export const questionRoutes = () => {
  const inTurn = createTurns()
  return [
    defineRead({ name: 'questions', query: z.object({}), answer: async () => savedQuestions }),
    defineRead({
      name: 'question',
      query: z.object({ sql: z.string().max(SQL_LENGTH_MAX, 'A question may have 6,000 characters.') }),
      answer: (context, question, visit) => inTurn(visit, () => answerQuestion(context, question, visit)),
    }),
  ]
}

/** The questions of docs/how-to/questions.md, which are not packed with the program: a test compares the two. */
export const savedQuestions: ReadonlyArray<{ readonly title: string; readonly sql: string }> = [
  {
    title: 'Whose data of yesterday is not there, and why?',
    sql: `select external_id, stream, state, reason
from warehouse.days
where local_date = current_date - 1 and state not in ('data', 'empty')
order by external_id, stream`,
  },
  {
    title: 'How complete is each stream?',
    sql: `select stream, count(*) filter (where state = 'data') as days_with_data, count(*) filter (where state = 'empty') as empty_days,
  count(*) filter (where state not in ('data', 'empty')) as days_open,
  round(avg(case when settled then 1 else 0 end), 3) as share_settled
from warehouse.days
where local_date between current_date - 30 and current_date - 1
group by stream order by stream`,
  },
  {
    title: 'Who sleeps worse this week than the week before?',
    sql: `select a.external_id, a.sleep as this_week, b.sleep as week_before, round((a.sleep - b.sleep)::numeric, 3) as change
from warehouse.seven_day_means a
join warehouse.seven_day_means b on b.external_id = a.external_id and b.local_date = a.local_date - 7
where a.local_date = current_date - 1 and a.sleep < b.sleep
order by change`,
  },
  {
    title: "What holds people's activity back?",
    sql: `select factor, count(*) as days, round(avg(factor_score)::numeric, 2) as mean_score
from warehouse.score_drivers
where score = 'activity' and weakest_first = 1 and local_date between current_date - 30 and current_date - 1
group by factor order by days desc, factor`,
  },
  {
    title: 'Which scores changed after they were first seen, and how late?',
    sql: `select type, count(*) as changes, round(avg(abs(value_after - value_before))::numeric, 3) as mean_change,
  percentile_disc(0.9) within group (order by changed_after) as nine_in_ten_within
from warehouse.score_changes
where local_date >= current_date - 60
group by type order by changes desc, type`,
  },
  {
    title: 'How many steps do people of each activity level take?',
    sql: `select a.value as activity_level, count(distinct d.external_id) as people, round(avg(d.steps)::numeric) as mean_steps
from warehouse.archetype_days a
join warehouse.person_days d on d.external_id = a.external_id and d.local_date = a.local_date
where a.name = 'activity_level' and a.periodicity = 'weekly' and a.local_date between current_date - 30 and current_date - 1
group by a.value order by mean_steps`,
  },
  {
    title: "Did last night's run do its work?",
    sql: `select kind, state, started_at, ended_at - started_at as took, done, failed, refused, rows_written, items_pushed
from warehouse.runs
where started_at > now() - interval '1 day'
order by started_at desc`,
  },
]
