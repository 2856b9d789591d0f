import type { Demographics } from '../derive/model/demographics.ts'
import { modelVersion } from '../derive/model/model.ts'
import { isOutdatedSql } from './derivation-progress.ts'
import type { Queryable } from './service-pool.ts'

/**
 * A marked day with the mark that was read: only the same mark may be deleted. The facts of the day and of its neighbours
 * are derived again; of a single day its own facts alone.
 */
export type MarkedDay = { localDay: string; mark: string; isSingle: boolean }

export type DerivationInputs = {
  accountId: string
  /** The account's order of sources, best first. */
  sourcePriority: readonly string[]
  /** The stored days were derived by another model, or by another order of sources than the account has now. */
  isOutdated: boolean
  asOfMs: number | null
  /** When the passing of time alone changes records; null when it changes none. */
  dueAtMs: number | null
  person: Demographics
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

/**
 * The inputs of a profile's derivation beside its logs; undefined when the profile is gone. Read them after the marks:
 * they then contain every change that a mark stands for.
 */
export async function readDerivationInputs(tx: Queryable, profileId: string): Promise<DerivationInputs | undefined> {
  type Row = Omit<DerivationInputs, 'person'> & { fields: Partial<Demographics> | null }
  const { rows } = await tx.query<Row>({
    name: 'derivation-inputs',
    text: `select p.account_id as "accountId", a.source_priority as "sourcePriority", ${isOutdatedSql} as "isOutdated",
             date_part('epoch', s.as_of) * 1000 as "asOfMs", date_part('epoch', s.due_at) * 1000 as "dueAtMs", m.fields
           from service.profiles p
           join service.accounts a using (account_id)
           left join service.derivations s using (profile_id)
           left join service.demographics m using (profile_id)
           where p.profile_id = $1`,
    values: [profileId],
  })
  return rows[0] && { ...rows[0], person: demographicsOf(rows[0].fields) }
}

/**
 * Blocks a deletion of the profile until the transaction ends; false when the profile is gone. A deletion waits for this lock,
 * so the lock is taken only when everything is computed.
 */
export async function lockAgainstErasure(tx: Queryable, profileId: string): Promise<boolean> {
  const { rowCount } = await tx.query({
    name: 'lock-against-erasure',
    text: 'select from service.profiles where profile_id = $1 for key share',
    values: [profileId],
  })
  return rowCount === 1
}

/** The fields that the derivation reads; null where unknown. */
export function demographicsOf(fields: Partial<Demographics> | null): Demographics {
  const { birthDate = null, age = null, gender = null } = fields ?? {}
  return { birthDate, age, gender }
}

/** The earliest marked days. Read the marks before the logs: every log that a mark stands for is then read too. */
export async function readMarks(tx: Queryable, profileId: string, countMax: number): Promise<MarkedDay[]> {
  const { rows } = await tx.query<MarkedDay>({
    name: 'read-marks',
    text: `select local_day::text as "localDay", mark::text, is_single as "isSingle"
           from service.dirty_days where profile_id = $1 order by local_day limit $2`,
    values: [profileId, countMax],
  })
  return rows
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
     on conflict (profile_id, local_day) do update set mark = excluded.mark, is_single = false`,
    [profileId, nowAt],
  )
}

/**
 * Marks every day with logs or with stored facts, and leaves whole marks that exist: for another model or order of
 * sources, which derives other facts from the same logs.
 */
export async function markEveryStoredDay(tx: Queryable, profileId: string, nowAt: Date): Promise<void> {
  await tx.query({
    name: 'mark-every-day',
    text: `insert into service.dirty_days (profile_id, local_day, marked_at)
           select $1, day, $2 from (
             select start_day as day from service.logs where profile_id = $1
             union select local_day from service.day_facts where profile_id = $1) days
           on conflict (profile_id, local_day) do update set is_single = false where dirty_days.is_single`,
    values: [profileId, nowAt],
  })
}

/** Marks days whose own facts alone are derived again, and leaves marks that exist. */
export async function markSingleDays(
  db: Queryable,
  { profileId, localDays, nowAt }: { profileId: string; localDays: readonly string[]; nowAt: Date },
): Promise<void> {
  await db.query({
    name: 'mark-single-days',
    text: `insert into service.dirty_days (profile_id, local_day, marked_at, is_single)
           select $1, day, $2, true from unnest($3::date[]) day order by day
           on conflict (profile_id, local_day) do nothing`,
    values: [profileId, nowAt, localDays],
  })
}

/** Splits a mark into marks of single days, unless it was renewed since it was read. */
export async function splitMark(
  tx: Queryable,
  {
    profileId,
    mark,
    localDays,
    nowAt,
  }: { profileId: string; mark: MarkedDay; localDays: readonly string[]; nowAt: Date },
): Promise<void> {
  await markSingleDays(tx, { profileId, localDays, nowAt })
  await tx.query({
    name: 'narrow-mark',
    text: 'update service.dirty_days set is_single = true where profile_id = $1 and local_day = $2 and mark = $3',
    values: [profileId, mark.localDay, mark.mark],
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
    text: `insert into service.derivations (profile_id, model_version, as_of, due_at, wake_at, source_priority)
           values ($1, $2, $3, $4, $4, $5)
           on conflict (profile_id) do update set model_version = excluded.model_version, as_of = excluded.as_of,
             due_at = excluded.due_at, wake_at = excluded.wake_at, source_priority = excluded.source_priority,
             failures = 0, retry_at = null`,
    values: [derivation.profileId, modelVersion, derivation.asOfAt, derivation.dueAt, derivation.sourcePriority],
  })
}
