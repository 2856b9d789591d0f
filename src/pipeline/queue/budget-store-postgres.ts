import { RateLimiterPostgres } from 'rate-limiter-flexible'
import { z } from 'zod'
import {
  type BudgetStore,
  MEMBER_TTL_MS,
  parseMemberState,
  parseStoredBudget,
  storedBudgetOf,
} from '../fleet/budget.ts'
import { ratePermitsFrom } from './rate-permits.ts'

/** A pool of connections to the database of the warehouse. */
type PostgresQueries = {
  query(text: string, values: unknown[]): Promise<{ rows: unknown[]; rowCount: number | null }>
}

const heartbeatRowSchema = z.object({ now_ms: z.number(), state: z.unknown(), lines: z.array(z.unknown()) })

/** The budget store in Postgres, for fleets without Redis. rate-limiter-flexible counts the requests a second. */
export function openPostgresBudgetStore({ pool }: { pool: PostgresQueries }): BudgetStore {
  return {
    async heartbeat(mine) {
      const values = [mine.member, JSON.stringify(mine), MEMBER_TTL_MS]
      const { rows } = await pool.query('select * from vitalsync.exchange_budget_line($1, $2, $3)', values)
      const { now_ms: nowMs, state, lines: members } = heartbeatRowSchema.parse(rows[0])
      return {
        nowMs,
        budget: state === null ? undefined : parseStoredBudget(state),
        members: members.map(parseMemberState),
      }
    },
    async compareAndSet(expected, next) {
      const values = [next.version, JSON.stringify(storedBudgetOf(next))]
      const { rowCount } =
        expected === undefined
          ? await pool.query(insertBudget, values)
          : await pool.query(updateBudget, [...values, expected.version])
      return rowCount === 1
    },
    acquireRatePermits: ratePermitsFrom(rateCounterIn(pool)),
    async removeMember(member) {
      await pool.query('delete from vitalsync.budget_lines where member = $1', [member])
    },
    close: async () => undefined,
  }
}

const insertBudget = 'insert into vitalsync.budget_state (version, state) values ($1, $2) on conflict do nothing'
const updateBudget = 'update vitalsync.budget_state set version = $1, state = $2 where version = $3'

function rateCounterIn(pool: PostgresQueries): RateLimiterPostgres {
  return new RateLimiterPostgres({
    storeClient: pool,
    storeType: 'pool',
    schemaName: 'vitalsync',
    tableName: 'budget_rate',
    tableCreated: true,
    keyPrefix: 'budget',
    points: 1,
    duration: 1,
    clearExpiredByTimeout: false,
  })
}
