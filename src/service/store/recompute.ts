import { modelVersion } from '../derive/model.ts'
import type { Queryable } from './pool.ts'

/** A day that was marked, with the mark that was seen: only that very mark may be taken away. */
export type MarkedDay = { localDay: string; mark: string }

export type ProfileState = {
  accountId: string
  modelVersion: string | null
  asOf: number | null
  person: { birthDate: string | null; age: number | null; gender: string | null }
}

/**
 * Profiles with something to derive, longest waiting first: those with marked days, then those for whom a day, a week
 * or a month has ended. Reads only; who really gets a profile is decided by `lockProfile`.
 */
export async function dueProfiles(
  db: Queryable,
  { now, countMax }: { now: Date; countMax: number },
): Promise<string[]> {
  const { rows } = await db.query<{ profile_id: string }>({
    name: 'due-profiles',
    text: `select due.profile_id from (
             select profile_id, min(mark) as place from service.dirty_days group by profile_id
             union all
             select profile_id, 9223372036854775807 from service.derivations where due_at <= $1
           ) due left join service.derivations d using (profile_id)
           where d.retry_at is null or d.retry_at <= $1
           group by due.profile_id order by min(place) limit $2`,
    values: [now, countMax],
  })
  return rows.map((row) => row.profile_id)
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

/** Undefined when the profile is gone. Holds off an erasure until the end of the transaction. */
export async function readState(tx: Queryable, profileId: string): Promise<ProfileState | undefined> {
  const { rows } = await tx.query({
    name: 'derivation-state',
    text: `select p.account_id, d.model_version, (extract(epoch from d.as_of) * 1000)::float8 as as_of, m.fields
           from service.profiles p
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
    modelVersion: row.model_version,
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

/** Marks every day there is, for a model that says other things of the same logs. */
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
 * for: it will be another mark, and waiting in an order of our own could deadlock with the upload.
 */
export async function eatMarks(tx: Queryable, profileId: string, marks: readonly MarkedDay[]): Promise<void> {
  await tx.query({
    name: 'eat-marks',
    text: `delete from service.dirty_days d using (
             select profile_id, local_day, mark from service.dirty_days
             where profile_id = $1 and (local_day, mark) in (select * from unnest($2::date[], $3::bigint[]))
             for update skip locked) eaten
           where d.profile_id = eaten.profile_id and d.local_day = eaten.local_day and d.mark = eaten.mark`,
    values: [profileId, marks.map(({ localDay }) => localDay), marks.map(({ mark }) => mark)],
  })
}

export async function noteDerived(
  tx: Queryable,
  note: { profileId: string; asOf: Date; dueAt: Date | null },
): Promise<void> {
  await tx.query({
    name: 'note-derived',
    text: `insert into service.derivations (profile_id, model_version, as_of, due_at) values ($1, $2, $3, $4)
           on conflict (profile_id) do update set model_version = excluded.model_version, as_of = excluded.as_of,
             due_at = excluded.due_at, failures = 0, retry_at = null`,
    values: [note.profileId, modelVersion, note.asOf, note.dueAt],
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
