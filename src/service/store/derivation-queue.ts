import type { Demographics } from '../derive/model/demographics.ts'
import { modelVersion } from '../derive/model/model.ts'
import type { Queryable } from './service-pool.ts'

/** A marked day with the mark that was read: only the same mark may be deleted. */
export type MarkedDay = { localDay: string; mark: string }

export type DerivationInputs = {
  accountId: string
  /** The account's order of sources, best first. */
  sourcePriority: readonly string[]
  /** The model and the order of sources of the last derivation; null when the profile was never derived. */
  derivedBy: { modelVersion: string; sourcePriority: readonly string[] } | null
  asOfMs: number | null
  person: Demographics
}

/** Marks scanned from each end of the queue, so that the cost of listing does not grow with the length of the queue. */
const marksScannedMax = 1000
/** A usual upload marks at most so many days; a back-fill marks more. */
const smallDaysMax = 3

const isDerivable = `($3::uuid[] is null or m.profile_id = any($3))
  and not exists (select from service.derivations d where d.profile_id = m.profile_id and d.retry_at > $1)`

/** Longest waiting first, whether an upload made the profile due or the end of a day, a week or a month did. */
const oldestSql = `select profile_id from (
    (select profile_id, marked_at as since from service.dirty_days m where ${isDerivable} order by marked_at limit ${marksScannedMax})
    union all
    (select profile_id, due_at from service.derivations m where due_at <= $1 and ${isDerivable} order by due_at limit $2)
  ) waiting group by profile_id order by min(since), profile_id limit $2`

/** Among the latest marks, profiles with at most `smallDaysMax` marked days: the least recently derived first. */
const freshSql = `select profile_id from (
    select profile_id, max(marked_at) as at from (
      select profile_id, marked_at from service.dirty_days m where ${isDerivable} order by marked_at desc limit ${marksScannedMax}
    ) latest group by profile_id
  ) candidates left join service.derivations d using (profile_id) where (
    select count(*) from (select from service.dirty_days own where own.profile_id = candidates.profile_id limit ${smallDaysMax + 1}) days
  ) <= ${smallDaysMax} order by d.as_of asc nulls first, at desc, profile_id limit $2`

/**
 * Lists profiles to derive. Alternates (round robin) between two orders: the profile with the oldest mark, and the least
 * recently derived profile among those with few marked days. A fresh upload therefore does not wait behind a thousand
 * back-fills, a profile that uploads all the time cannot starve others, and half of the work always goes to the oldest
 * marks. Of the profiles `among` alone, where it is given. Locks nothing: `tryLockProfile` decides which process derives a
 * profile.
 */
export async function listDueProfiles(
  db: Queryable,
  { nowAt, countMax, among = null }: { nowAt: Date; countMax: number; among?: readonly string[] | null },
): Promise<string[]> {
  const list = async (name: string, text: string) => {
    const { rows } = await db.query<{ profile_id: string }>({ name, text, values: [nowAt, countMax, among] })
    return rows.map((row) => row.profile_id)
  }
  const oldest = await list('oldest-due', oldestSql)
  const fresh = await list('fresh-due', freshSql)
  const alternating = oldest.flatMap((profileId, index) => [profileId, fresh[index] ?? profileId])
  return [...new Set([...alternating, ...fresh])].slice(0, countMax)
}

/**
 * Locks the derivation of a profile until the transaction ends; false when another process holds the lock. It is an
 * advisory lock, so it blocks no upload, and it ends with the connection, so a killed process leaves no lock behind.
 */
export async function tryLockProfile(tx: Queryable, profileId: string): Promise<boolean> {
  const { rows } = await tx.query<{ locked: boolean }>({
    name: 'lock-derivation',
    text: `select pg_try_advisory_xact_lock(hashtextextended('derive ' || $1::text, 0)) as locked`,
    values: [profileId],
  })
  return rows[0]?.locked ?? false
}

type DerivationInputsRow = {
  account_id: string
  source_priority: string[]
  model_version: string | null
  derived_priority: string[] | null
  as_of_ms: number | null
  fields: Partial<Demographics> | null
}

/**
 * The inputs of a profile's derivation beside its logs; undefined when the profile is gone. Blocks a deletion of the
 * profile until the transaction ends. Read the state after the marks: it then contains every change that a mark stands for.
 */
export async function readDerivationInputs(tx: Queryable, profileId: string): Promise<DerivationInputs | undefined> {
  const { rows } = await tx.query<DerivationInputsRow>({
    name: 'derivation-inputs',
    text: `select p.account_id, a.source_priority, d.model_version, d.source_priority as derived_priority,
             (extract(epoch from d.as_of) * 1000)::float8 as as_of_ms, m.fields
           from service.profiles p
           join service.accounts a using (account_id)
           left join service.derivations d using (profile_id)
           left join service.demographics m using (profile_id)
           where p.profile_id = $1 for key share of p`,
    values: [profileId],
  })
  const row = rows[0]
  if (!row) return undefined
  return {
    accountId: row.account_id,
    sourcePriority: row.source_priority,
    derivedBy:
      row.model_version === null
        ? null
        : { modelVersion: row.model_version, sourcePriority: row.derived_priority ?? [] },
    asOfMs: row.as_of_ms,
    person: demographicsOf(row.fields),
  }
}

/** The fields that the derivation reads; null where unknown. */
export function demographicsOf(fields: Partial<Demographics> | null): Demographics {
  const { birthDate = null, age = null, gender = null } = fields ?? {}
  return { birthDate, age, gender }
}

/** The earliest marked days. Read the marks before the logs: every log that a mark stands for is then read too. */
export async function readMarks(tx: Queryable, profileId: string, countMax: number): Promise<MarkedDay[]> {
  const { rows } = await tx.query<{ local_day: string; mark: string }>({
    name: 'read-marks',
    text: `select local_day::text, mark::text from service.dirty_days where profile_id = $1 order by local_day limit $2`,
    values: [profileId, countMax],
  })
  return rows.map((row) => ({ localDay: row.local_day, mark: row.mark }))
}

/**
 * Marks every day with logs, and the day of the change, and renews the marks that exist: for a change of demographics,
 * which a running derivation may not have read.
 */
export async function markDaysWithLogs(tx: Queryable, profileId: string, nowAt: Date): Promise<void> {
  await tx.query(
    `insert into service.dirty_days (profile_id, local_day, marked_at)
     select $1, day, $2 from (
       select start_day as day from service.logs where profile_id = $1
       union select end_day from service.logs where profile_id = $1
       union select $2::timestamptz::date) days
     on conflict (profile_id, local_day) do update set mark = excluded.mark`,
    [profileId, nowAt],
  )
}

/**
 * Marks every day with logs or with stored facts, and leaves marks that exist: for another model or order of sources,
 * which derives other facts from the same logs.
 */
export async function markEveryStoredDay(tx: Queryable, profileId: string, nowAt: Date): Promise<void> {
  await tx.query({
    name: 'mark-every-day',
    text: `insert into service.dirty_days (profile_id, local_day, marked_at)
           select $1, day, $2 from (
             select start_day as day from service.logs where profile_id = $1
             union select local_day from service.day_facts where profile_id = $1) days
           on conflict (profile_id, local_day) do nothing`,
    values: [profileId, nowAt],
  })
}

/**
 * Deletes exactly the marks that were read. A mark that an upload is renewing at this moment is skipped: it becomes
 * another mark, and waiting for it in another order than the upload's could deadlock. Deletes by ctid, because a self-join
 * scans the whole table where the statistics still say that the table is short.
 */
export async function deleteMarks(tx: Queryable, profileId: string, marks: readonly MarkedDay[]): Promise<void> {
  await tx.query({
    name: 'delete-marks',
    text: `delete from service.dirty_days where ctid = any(array(
             select ctid from service.dirty_days
             where profile_id = $1 and (local_day, mark) in (select * from unnest($2::date[], $3::bigint[]))
             for update skip locked))`,
    values: [profileId, marks.map(({ localDay }) => localDay), marks.map(({ mark }) => mark)],
  })
}

export async function recordDerivation(
  tx: Queryable,
  derivation: { profileId: string; asOfAt: Date; dueAt: Date | null; sourcePriority: readonly string[] },
): Promise<void> {
  await tx.query({
    name: 'record-derivation',
    text: `insert into service.derivations (profile_id, model_version, as_of, due_at, source_priority)
           values ($1, $2, $3, $4, $5)
           on conflict (profile_id) do update set model_version = excluded.model_version, as_of = excluded.as_of,
             due_at = excluded.due_at, source_priority = excluded.source_priority, failures = 0, retry_at = null`,
    values: [derivation.profileId, modelVersion, derivation.asOfAt, derivation.dueAt, derivation.sourcePriority],
  })
}

/** Schedules the retry of a profile whose derivation failed, with exponential backoff: 2, 4, 8 … s, at most 1 h. */
export async function recordDerivationFailure(
  db: Queryable,
  failure: { profileId: string; nowAt: Date },
): Promise<void> {
  await db.query({
    name: 'record-derivation-failure',
    text: `insert into service.derivations as d (profile_id, model_version, as_of, failures, retry_at)
           select profile_id, '', $2, 1, $2::timestamptz + interval '2 seconds' from service.profiles where profile_id = $1
           on conflict (profile_id) do update set failures = d.failures + 1,
             retry_at = $2::timestamptz + least(interval '1 hour', interval '1 second' * 2 ^ least(d.failures + 1, 12))`,
    values: [failure.profileId, failure.nowAt],
  })
}

/** Makes every profile due that another model derived. */
export async function markOlderModelsDue(db: Queryable): Promise<void> {
  await db.query(`update service.derivations set due_at = '-infinity' where model_version <> $1`, [modelVersion])
}
