import type { Queryable } from './service-pool.ts'

/** The present revision of a profile's derived records; undefined when no record or no such profile exists. */
export type RevisionLookup = (profileId: string) => Promise<string | undefined>

/**
 * Batches concurrent lookups: a lookup that arrives while a query runs joins the next query, so a thousand readers at
 * once cost the database a few statements. A lookup never joins a query that began before it.
 */
export function createRevisionLookup(db: Queryable): RevisionLookup {
  let waiting = new Map<string, PromiseWithResolvers<string | undefined>>()
  let running = false

  const runBatch = async (batch: typeof waiting) => {
    try {
      const { rows } = await db.query<[profileId: string, revision: string]>({
        name: 'look-up-revisions',
        text: 'select profile_id, revision from service.derived_revisions where profile_id = any($1::uuid[])',
        values: [[...batch.keys()]],
        rowMode: 'array',
      })
      const revisions = new Map(rows)
      for (const [profileId, { resolve }] of batch) resolve(revisions.get(profileId))
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
    const lookup = waiting.get(profileId) ?? Promise.withResolvers<string | undefined>()
    waiting.set(profileId, lookup)
    if (!running) void drain()
    return lookup.promise
  }
}
