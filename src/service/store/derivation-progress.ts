import { createBatcher } from '../../base/postgres/batcher.ts'
import { modelVersion } from '../derive/model/model.ts'
import { type Queryable, withinReadTime } from './service-pool.ts'

/** How far the derivation of one profile has come, and the revision of its records, both of one snapshot. */
export type DerivationProgress = {
  /** Changes with every change of the profile's derived records; '0' when there never was a record. */
  revision: string
  /** The first and the last of the days that wait for derivation; null when no day waits. */
  firstMarkedDay: string | null
  lastMarkedDay: string | null
  /** When the passing of time alone changes records; null when it changes none. */
  dueAtMs: number | null
  /** The instant of the last derivation; null before the first. */
  asOfMs: number | null
  /** Another model or another order of sources derived the records: any of them may change. */
  isOutdated: boolean
}

/** Whether another model or another order of sources derived a profile (`s`) of an account (`a`); false where none has. */
export const isOutdatedSql = `coalesce(s.model_version <> '${modelVersion}' or s.source_priority <> a.source_priority, false)`

/** The columns of a `DerivationProgress`, for statements that join `progressJoinsSql`. */
export const progressColumnsSql = `coalesce(r.revision, 0)::text as revision,
  (select min(local_day)::text from service.dirty_days m where m.profile_id = p.profile_id) as "firstMarkedDay",
  (select max(local_day)::text from service.dirty_days m where m.profile_id = p.profile_id) as "lastMarkedDay",
  date_part('epoch', s.due_at) * 1000 as "dueAtMs", date_part('epoch', s.as_of) * 1000 as "asOfMs",
  ${isOutdatedSql} as "isOutdated"`

export const progressJoinsSql = `service.profiles p join service.accounts a using (account_id)
  left join service.derived_revisions r using (profile_id)
  left join service.derivations s using (profile_id)`

/** The present progress of a profile's derivation; undefined when no such profile exists. */
type ProgressLookup = (profileId: string) => Promise<DerivationProgress | undefined>

const LOOKUPS_PER_STATEMENT = 1000

/** A thousand readers at once cost the database a few statements. A lookup never joins a query that began before it. */
export function createProgressLookup(db: Queryable): ProgressLookup {
  const lookUp = createBatcher({
    itemsMax: LOOKUPS_PER_STATEMENT,
    batchesAtOnce: 1,
    keyOf: () => 0,
    async run(profileIds: readonly string[]) {
      const { rows } = await db.query<DerivationProgress & { profile_id: string }>({
        name: 'look-up-progress',
        text: `select p.profile_id, ${progressColumnsSql} from ${progressJoinsSql} where p.profile_id = any($1::uuid[])`,
        values: [profileIds],
      })
      const found = new Map(rows.map(({ profile_id: profileId, ...progress }) => [profileId, progress]))
      return profileIds.map((profileId) => found.get(profileId))
    },
  })
  // A lookup may wait for the batch before it: its whole wait is bounded.
  return (profileId) => withinReadTime(lookUp(profileId))
}
