import { RateLimiterPostgres } from 'rate-limiter-flexible'
import { z } from 'zod'
import { type BudgetBoard, LINE_KEPT_MS, readLine, readState, writeState } from '../budget.ts'
import { drawFrom } from './budget-rate.ts'

/** A pool of connections to the database of the warehouse, handed in. */
export type Queryable = {
  query(text: string, values: unknown[]): Promise<{ rows: unknown[]; rowCount: number | null }>
}

const exchanged = z.object({ now_ms: z.number(), state: z.unknown(), lines: z.array(z.unknown()) })

/** The board in Postgres, for fleets without Redis. Requests a second are counted by rate-limiter-flexible. */
export function openPostgresBoard({ pool }: { pool: Queryable }): BudgetBoard {
  const rate = new RateLimiterPostgres({
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
  return {
    async exchange(line) {
      const { rows } = await pool.query('select * from vitalsync.exchange_budget_line($1, $2, $3)', [
        line.member,
        JSON.stringify(line),
        LINE_KEPT_MS,
      ])
      const { now_ms: nowMs, state, lines } = exchanged.parse(rows[0])
      return { nowMs, state: state === null ? undefined : readState(state), lines: lines.map(readLine) }
    },
    async adapt(from, to) {
      const state = JSON.stringify(writeState(to))
      const { rowCount } =
        from === undefined
          ? await pool.query(
              'insert into vitalsync.budget_state (version, state) values ($1, $2) on conflict do nothing',
              [to.version, state],
            )
          : await pool.query('update vitalsync.budget_state set version = $2, state = $3 where version = $1', [
              from.version,
              to.version,
              state,
            ])
      return rowCount === 1
    },
    draw: drawFrom(rate),
    leave: async (member) => void (await pool.query('delete from vitalsync.budget_lines where member = $1', [member])),
    close: async () => undefined,
  }
}
