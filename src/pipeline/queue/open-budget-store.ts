import type { BudgetStore } from '../fleet/budget.ts'
import type { Pool } from '../warehouse/postgres/warehouse-pool.ts'
import { openPostgresBudgetStore } from './budget-store-postgres.ts'
import { openRedisBudgetStore } from './budget-store-redis.ts'
import type { QueueEngine } from './engine.ts'
import { connectRedis, failFast } from './redis-connection.ts'

/** The fleet's budget is stored in the queue's Redis; where the queue is in Postgres, beside the ledger. */
export function openBudgetStore(engine: QueueEngine, pool: Pool, queueUrl: string): BudgetStore {
  if (engine.kind === 'postgres') return openPostgresBudgetStore({ pool })
  // While it is lost, the rate limiter uses its fallback share, and tries again.
  return openRedisBudgetStore({ redis: connectRedis(queueUrl, failFast) })
}
