import { z } from 'zod'
import { SECOND } from '../../base/time/units.ts'
import {
  type BudgetStore,
  MEMBER_TTL_MS,
  parseMemberState,
  parseStoredBudget,
  storedBudgetOf,
} from '../fleet/budget.ts'
import { type CountRequests, ratePermitsFrom } from './rate-permits.ts'

/** A pool of connections to the database of the warehouse. */
type PostgresQueries = {
  query(text: string, values: unknown[]): Promise<{ rows: unknown[]; rowCount: number | null }>
}

const fleetRowSchema = z.object({ now_ms: z.number(), state: z.unknown(), lines: z.array(z.unknown()) })

function parseFleetRow(row: unknown) {
  const { now_ms: nowMs, state, lines } = fleetRowSchema.parse(row)
  return { nowMs, budget: state === null ? undefined : parseStoredBudget(state), members: lines.map(parseMemberState) }
}

/** The budget store in Postgres, for fleets without Redis. */
export function openPostgresBudgetStore({ pool }: { pool: PostgresQueries }): BudgetStore {
  return {
    async heartbeat(mine) {
      const values = [mine.member, JSON.stringify(mine), MEMBER_TTL_MS]
      const { rows } = await pool.query('select * from vitalsync.exchange_budget_line($1, $2, $3)', values)
      return parseFleetRow(rows[0])
    },
    async read() {
      const { rows } = await pool.query(readFleet, [MEMBER_TTL_MS])
      return parseFleetRow(rows[0])
    },
    async compareAndSet(expected, next) {
      const values = [next.version, JSON.stringify(storedBudgetOf(next))]
      const { rowCount } =
        expected === undefined
          ? await pool.query(insertBudget, values)
          : await pool.query(updateBudget, [...values, expected.version])
      return rowCount === 1
    },
    acquireRatePermits: ratePermitsFrom(requestCountIn(pool)),
    async removeMember(member) {
      await pool.query('delete from vitalsync.budget_lines where member = $1', [member])
    },
    close: async () => undefined,
  }
}

const readFleet = `
  select extract(epoch from clock_timestamp())::float8 * 1000 as now_ms, (select state from vitalsync.budget_state),
    (select coalesce(jsonb_agg(line), '[]') from vitalsync.budget_lines
      where seen_at >= clock_timestamp() - $1::float8 * interval '1 ms') as lines`
const insertBudget = 'insert into vitalsync.budget_state (version, state) values ($1, $2) on conflict do nothing'
const updateBudget = 'update vitalsync.budget_state set version = $1, state = $2 where version = $3'

/** A second begins with its first request, and with no less than 0: a negative number may come after the end of its second. */
const countRequests = `
  insert into vitalsync.budget_rate as rate (key, points, expire)
  values ('budget:requests', greatest(0, $1::int), (extract(epoch from clock_timestamp()) * 1000)::bigint + ${SECOND})
  on conflict (key) do update set
    points = case when rate.expire > excluded.expire - ${SECOND} then rate.points + $1::int else excluded.points end,
    expire = case when rate.expire > excluded.expire - ${SECOND} then rate.expire else excluded.expire end
  returning points as counted, greatest(0, expire - (extract(epoch from clock_timestamp()) * 1000)::bigint)::int as ends_in_ms`

const countRowSchema = z.object({ counted: z.number(), ends_in_ms: z.number() })

const requestCountIn =
  (pool: PostgresQueries): CountRequests =>
  async (requests) => {
    const { rows } = await pool.query(countRequests, [requests])
    const { counted, ends_in_ms: endsInMs } = countRowSchema.parse(rows[0])
    return { counted, endsInMs }
  }
