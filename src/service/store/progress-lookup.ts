import {
  type DerivationProgress,
  type ProgressRow,
  progressColumnsSql,
  progressJoinsSql,
  progressOf,
} from './derivation-progress.ts'
import type { Queryable } from './service-pool.ts'

/** The present progress of a profile's derivation; undefined when no such profile exists. */
type ProgressLookup = (profileId: string) => Promise<DerivationProgress | undefined>

type Waiting = Map<string, PromiseWithResolvers<DerivationProgress | undefined>>

/**
 * Batches concurrent lookups: a lookup that arrives while a query runs joins the next query, so a thousand readers at
 * once cost the database a few statements. A lookup never joins a query that began before it.
 */
export function createProgressLookup(db: Queryable): ProgressLookup {
  let waiting: Waiting = new Map()
  let running = false

  const runBatch = async (batch: Waiting) => {
    try {
      const { rows } = await db.query<ProgressRow & { profile_id: string }>({
        name: 'look-up-progress',
        text: `select p.profile_id, ${progressColumnsSql} from ${progressJoinsSql} where p.profile_id = any($1::uuid[])`,
        values: [[...batch.keys()]],
      })
      const found = new Map(rows.map((row) => [row.profile_id, progressOf(row)]))
      for (const [profileId, { resolve }] of batch) resolve(found.get(profileId))
    } catch (error) {
      for (const { reject } of batch.values()) reject(error)
    }
  }

  const drain = async () => {
    running = true
    while (waiting.size > 0) {
      const batch = waiting
      waiting = new Map()
      await runBatch(batch)
    }
    running = false
  }

  return (profileId) => {
    const lookup = waiting.get(profileId) ?? Promise.withResolvers<DerivationProgress | undefined>()
    waiting.set(profileId, lookup)
    if (!running) void drain()
    return lookup.promise
  }
}
