import { modelVersion } from '../derive/model.ts'
import type { Queryable } from './pool.ts'

/** A day that was marked, with the mark that was seen: only that very mark may be taken away. */
export type MarkedDay = { localDay: string; mark: string }

export type ProfileState = {
  accountId: string
  /** The account's own order of sources, best first. */
  sourcePriority: readonly string[]
  /** By what the days there are were derived; null when none ever was. */
  derivedBy: { modelVersion: string; sourcePriority: readonly string[] } | null
  asOf: number | null
  person: { birthDate: string | null; age: number | null; gender: string | null }
}

/** Marks looked at from either end of the queue: what asking for work costs does not grow with what is waiting. */
const marksLookedAt = 1000
/** So many marked days are what a usual upload leaves; a back-fill leaves more. */
const smallDaysMax = 3

const notPutOff = `not exists (select from service.derivations d where d.profile_id = m.profile_id and d.retry_at > $1)`

/** Longest waiting first, whether for an upload's sake or because a day, a week or a month has ended. */
const oldestSql = `select profile_id from (
    (select profile_id, marked_at as since from service.dirty_days m where ${notPutOff} order by marked_at limit ${marksLookedAt})
    union all
    (select profile_id, due_at from service.derivations m where due_at <= $1 and ${notPutOff} order by due_at limit $2)
  ) waiting group by profile_id order by min(since), profile_id limit $2`

/** Of those who came last and have little to do: in turn, whoever was served longest ago. */
const freshSql = `select profile_id from (
    select profile_id, max(marked_at) as at from (
      select profile_id, marked_at from service.dirty_days m where ${notPutOff} order by marked_at desc limit ${marksLookedAt}
    ) latest group by profile_id
  ) candidates left join service.derivations d using (profile_id) where (
    select count(*) from (select from service.dirty_days own where own.profile_id = candidates.profile_id limit ${smallDaysMax + 1}) days
  ) <= ${smallDaysMax} order by d.as_of asc nulls first, at desc, profile_id limit $2`

/**
 * Profiles with something to derive: in turn the one that waits longest, and of those with little to do the one that was
 * served longest ago. So what was just uploaded does not stand behind a thousand back-fills, nobody who uploads all the
 * time keeps others out, and half of the work always goes to who is first in line. Reads only; who really gets a profile is decided by `lockProfile`.
 */
export async function dueProfiles(
  db: Queryable,
  { now, countMax }: { now: Date; countMax: number },
): Promise<string[]> {
  const ask = async (name: string, text: string) => {
    const { rows } = await db.query<{ profile_id: string }>({ name, text, values: [now, countMax] })
    return rows.map((row) => row.profile_id)
  }
  const oldest = await ask('oldest-due', oldestSql)
  const fresh = await ask('fresh-due', freshSql)
  const inTurn = oldest.flatMap((profileId, place) => [profileId, fresh[place] ?? profileId])
  return [...new Set([...inTurn, ...fresh])].slice(0, countMax)
}

/**
 * For the length of a transaction nobody else derives this profile. An advisory lock, so that uploads are not held up,
 * and gone with the connection, so that a killed process leaves nothing behind. False when another has it.
 */
export async function lockProfile(tx: Queryable, profileId: string): Promise<boolean> {
  const { rows } = await tx.query<{ locked: boolean }>({
    name: 'lock-derivation',
    text: `select pg_try_advisory_xact_lock(hashtextextended('derive ' || $1::text, 0)) as locked`,
    values: [profileId],
  })
  return rows[0]?.locked ?? false
}

/**
 * Who the profile is of and how it is to be derived; undefined when it is gone. Holds off an erasure until the end of
 * the transaction. Read after the marks: whatever a mark that was seen stands for is then sure to be in it.
 */
export async function readState(tx: Queryable, profileId: string): Promise<ProfileState | undefined> {
  const { rows } = await tx.query({
    name: 'derivation-state',
    text: `select p.account_id, a.source_priority, d.model_version, d.source_priority as derived_priority,
             (extract(epoch from d.as_of) * 1000)::float8 as as_of, m.fields
           from service.profiles p
           join service.accounts a using (account_id)
           left join service.derivations d using (profile_id)
           left join service.demographics m using (profile_id)
           where p.profile_id = $1 for key share of p`,
    values: [profileId],
  })
  const row = rows[0]
  if (!row) return undefined
  const { birthDate = null, age = null, gender = null } = row.fields ?? {}
  return {
    accountId: row.account_id,
    sourcePriority: row.source_priority,
    derivedBy:
      row.model_version === null ? null : { modelVersion: row.model_version, sourcePriority: row.derived_priority },
    asOf: row.as_of,
    person: { birthDate, age, gender },
  }
}

/** The earliest marked days. Read before the logs: a log that a mark stands for is then sure to be seen. */
export async function readMarks(tx: Queryable, profileId: string, countMax: number): Promise<MarkedDay[]> {
  const { rows } = await tx.query<{ local_day: string; mark: string }>({
    name: 'read-marks',
    text: `select local_day::text, mark::text from service.dirty_days where profile_id = $1 order by local_day limit $2`,
    values: [profileId, countMax],
  })
  return rows.map((row) => ({ localDay: row.local_day, mark: row.mark }))
}

/** Marks every day there is, for a model or an order of sources that says other things of the same logs. */
export async function markEveryDay(tx: Queryable, profileId: string, now: Date): Promise<void> {
  await tx.query({
    name: 'mark-every-day',
    text: `insert into service.dirty_days (profile_id, local_day, marked_at)
           select $1, day, $2 from (
             select start_day as day from service.logs where profile_id = $1
             union select local_day from service.day_facts where profile_id = $1) days
           on conflict (profile_id, local_day) do nothing`,
    values: [profileId, now],
  })
}

/**
 * Takes away exactly the marks that were seen. A mark that an upload is renewing at this moment is skipped, not waited
 * for: it will be another mark, and waiting in an order of our own could deadlock with the upload. By ctid, because a
 * join of the table with itself walks through all of it where Postgres believes that it is as short as it was.
 */
export async function eatMarks(tx: Queryable, profileId: string, marks: readonly MarkedDay[]): Promise<void> {
  await tx.query({
    name: 'eat-marks',
    text: `delete from service.dirty_days where ctid = any(array(
             select ctid from service.dirty_days
             where profile_id = $1 and (local_day, mark) in (select * from unnest($2::date[], $3::bigint[]))
             for update skip locked))`,
    values: [profileId, marks.map(({ localDay }) => localDay), marks.map(({ mark }) => mark)],
  })
}

export async function noteDerived(
  tx: Queryable,
  note: { profileId: string; asOf: Date; dueAt: Date | null; sourcePriority: readonly string[] },
): Promise<void> {
  await tx.query({
    name: 'note-derived',
    text: `insert into service.derivations (profile_id, model_version, as_of, due_at, source_priority)
           values ($1, $2, $3, $4, $5)
           on conflict (profile_id) do update set model_version = excluded.model_version, as_of = excluded.as_of,
             due_at = excluded.due_at, source_priority = excluded.source_priority, failures = 0, retry_at = null`,
    values: [note.profileId, modelVersion, note.asOf, note.dueAt, note.sourcePriority],
  })
}

/** Puts a profile that cannot be derived behind the others: 2, 4, 8 … seconds, at most an hour. */
export async function noteFailure(db: Queryable, note: { profileId: string; now: Date }): Promise<void> {
  await db.query({
    name: 'note-derivation-failure',
    text: `insert into service.derivations as d (profile_id, model_version, as_of, failures, retry_at)
           select profile_id, '', $2, 1, $2::timestamptz + interval '2 seconds' from service.profiles where profile_id = $1
           on conflict (profile_id) do update set failures = d.failures + 1,
             retry_at = $2::timestamptz + least(interval '1 hour', interval '1 second' * 2 ^ least(d.failures + 1, 12))`,
    values: [note.profileId, note.now],
  })
}

/** Everybody who was derived by another model is due. */
export async function dueAfterModelChange(db: Queryable): Promise<void> {
  await db.query(`update service.derivations set due_at = '-infinity' where model_version <> $1`, [modelVersion])
}
