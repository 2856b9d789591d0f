import { dayNumberFromText } from '../../../src/base/time/local-time.ts'
import { emptyCauses } from '../../../src/pipeline/ledger/empty-causes.ts'
import type { Pool } from '../../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import type { PlannedPerson } from '../../../src/service/sandbox/people/planned-people.ts'

/** The number of days by planned and given cause: `planned given`. */
export type Matrix = Map<string, number>

/** No habit is known of the first days, and the last days are not over. */
const [SKIPPED_FIRST, SKIPPED_LAST] = [14, 6]

type ToldDay = { external_id: string; stream: string; day: string; first: string | null; last: string | null }

const toldQuery = `
  select d.external_id, d.stream, d.local_date::text as day, d.cause as last,
    coalesce((select c.from_cause from warehouse.cause_changes c where c.external_id = d.external_id and c.stream = d.stream
      and c.local_date = d.local_date and c.change = 1), (select e.cause from vitalsync.empty_days e join vitalsync.profiles p on p.id = e.profile_id
      where p.external_id = d.external_id and e.stream = d.stream and e.local_date = d.local_date)) as first
  from warehouse.days d where d.external_id = $1 and d.stream = any($2)`

/** Counts each empty day twice: the cause that was given first, and the cause in the end. A day that is there in the end has none. */
export async function compareCauses(pool: Pool, people: readonly PlannedPerson[], matrix: Matrix): Promise<void> {
  const count = (planned: string, told: string) => {
    const key = `${planned} ${told}`
    matrix.set(key, (matrix.get(key) ?? 0) + 1)
  }
  for (const { externalId, days, plan } of people) {
    const truths = new Map(days.slice(SKIPPED_FIRST, -SKIPPED_LAST).map(({ day, truth }) => [day, truth]))
    const { rows } = await pool.query<ToldDay>(toldQuery, [externalId, ['scores', 'biomarkers']])
    for (const { day, first, last, stream } of rows) {
      const truth = truths.get(dayNumberFromText(day))
      if (!truth) continue
      if (process.env['SHOW'] && ((first && first !== truth.atFirst) || (last && last !== truth.atLast)))
        console.log(plan, stream, day, truth, first, last)
      if (first !== null && first !== 'data') count(truth.atFirst, first)
      if (last !== null) count(truth.atLast, last)
    }
  }
}

const counted = (matrix: Matrix, planned: string, told: string) => matrix.get(`${planned} ${told}`) ?? 0
const plannedIn = (matrix: Matrix) => [
  ...new Set([...emptyCauses, ...[...matrix.keys()].map((key) => key.split(' ')[0] ?? '')]),
]

export function matrixRows(matrix: Matrix) {
  return {
    columns: ['planned \\ given', ...emptyCauses],
    rows: plannedIn(matrix).map((planned) => [planned, ...emptyCauses.map((told) => counted(matrix, planned, told))]),
  }
}

/** Precision: the share of the given causes that are right. Recall: the share of the planned causes that are given. */
export function ratesOf(matrix: Matrix): { cause: string; precision: number; recall: number }[] {
  return emptyCauses.map((cause) => {
    const right = counted(matrix, cause, cause)
    const told = plannedIn(matrix).reduce((sum, planned) => sum + counted(matrix, planned, cause), 0)
    const planned = emptyCauses.reduce((sum, each) => sum + counted(matrix, cause, each), 0)
    return { cause, precision: told === 0 ? 0 : right / told, recall: planned === 0 ? 0 : right / planned }
  })
}

/** How many days are called upstream's that are not. */
export const wrongUpstream = (matrix: Matrix): number =>
  plannedIn(matrix).reduce(
    (sum, planned) => sum + (planned === 'sent_not_derived' ? 0 : counted(matrix, planned, 'sent_not_derived')),
    0,
  )
