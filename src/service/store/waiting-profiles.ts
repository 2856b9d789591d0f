import { modelVersion } from '../derive/model/model.ts'
import type { Queryable } from './service-pool.ts'

/** A profile that waits for derivation. */
export type WaitingProfile = {
  profileId: string
  accountId: string
  sinceMs: number
  /** With few marked days, as a usual upload has, and not many. */
  isFresh: boolean
  /** The instant of the last derivation; null before the first. */
  asOfMs: number | null
}

/** How many days a usual upload marks at most; a back-fill marks more. */
const smallDaysMax = 3
/** Accounts that one listing looks at; the next listing continues after them. */
const accountsPerListing = 100
/** How many profiles of an account are listed that wait longest, and how many that began to wait last. */
const profilesPerAccount = 16
/** Profiles woken by one call: more wait for the next. */
const wokenMax = 500

const isDerivable = `($3::uuid[] is null or w.profile_id = any($3))
  and not exists (select from service.derivations d where d.profile_id = w.profile_id and d.retry_at > $1)`

/**
 * Steps from account to account by the index (loose index scan), and takes of each account the profiles that wait longest
 * and, among those that began to wait last, the ones with few marked days.
 */
const listSql = `with recursive accounts as (
    (select account_id from service.waiting_profiles where account_id > $4 order by account_id limit 1)
    union all
    select (select w.account_id from service.waiting_profiles w where w.account_id > a.account_id order by w.account_id limit 1)
    from accounts a where a.account_id is not null
  )
  select a.account_id as "accountId", found.*, date_part('epoch', d.as_of) * 1000 as "asOfMs"
  from (select account_id from accounts where account_id is not null limit ${accountsPerListing}) a
  left join lateral (
    (select w.profile_id as "profileId", date_part('epoch', w.since) * 1000 as "sinceMs", false as "isFresh"
     from service.waiting_profiles w where w.account_id = a.account_id and ${isDerivable} order by w.since limit $2)
    union all
    (select latest.profile_id, date_part('epoch', latest.since) * 1000, true
     from (select * from service.waiting_profiles w where w.account_id = a.account_id and ${isDerivable}
           order by w.since desc limit $2) latest
     where (select count(*) from (select from service.dirty_days m where m.profile_id = latest.profile_id limit ${smallDaysMax + 1}) days)
           <= ${smallDaysMax})
  ) found on true left join service.derivations d on d.profile_id = found."profileId"`

/** Below every id of an account: where a listing begins. */
export const beforeAllAccounts = '00000000-0000-0000-0000-000000000000'

type Listing = {
  nowAt: Date
  /** The profiles that are listed; null for all. */
  among: readonly string[] | null
  /** Accounts up to this id are left out. */
  afterAccountId: string
}

/**
 * Lists profiles that wait, some of each account, and the id after which the next listing goes on. Locks nothing:
 * `tryLockProfile` decides which process derives a profile.
 */
export async function listWaitingProfiles(
  db: Queryable,
  { nowAt, among, afterAccountId }: Listing,
): Promise<{ waiting: WaitingProfile[]; nextAfterAccountId: string }> {
  const { rows } = await db.query<WaitingProfile | { accountId: string; profileId: null }>({
    name: 'list-waiting',
    text: listSql,
    values: [nowAt, profilesPerAccount, among, afterAccountId],
  })
  const accounts = new Set(rows.map(({ accountId }) => accountId))
  const last = [...accounts].sort().at(-1)
  return {
    waiting: rows.filter((row) => row.profileId !== null),
    nextAfterAccountId: accounts.size < accountsPerListing ? beforeAllAccounts : (last ?? beforeAllAccounts),
  }
}

/** Lets profiles wait for derivation whose day, week or month has ended, or whose retry is due. */
export async function wakeProfiles(db: Queryable, nowAt: Date): Promise<void> {
  await db.query({
    name: 'wake-profiles',
    text: `with due as (
             select profile_id, wake_at from service.derivations where wake_at <= $1
             order by wake_at limit ${wokenMax} for update skip locked
           ), woken as (
             update service.derivations d set wake_at = null from due where d.profile_id = due.profile_id
           )
           insert into service.waiting_profiles (profile_id, account_id, since)
           select due.profile_id, p.account_id, due.wake_at from due join service.profiles p using (profile_id)
           order by due.profile_id on conflict do nothing`,
    values: [nowAt],
  })
}

/** The number that a later mark of the profile changes. Read it before the marks. */
export async function readChange(tx: Queryable, profileId: string): Promise<string | undefined> {
  const { rows } = await tx.query<{ change: string }>({
    name: 'read-change',
    text: 'select change::text from service.waiting_profiles where profile_id = $1',
    values: [profileId],
  })
  return rows[0]?.change
}

/**
 * Takes the profile from those that wait, unless days of it are still marked, or a mark came after `change` was read. A
 * row that an upload holds at this moment is skipped: its mark keeps the profile waiting.
 */
export async function endWaiting(tx: Queryable, profileId: string, change: string | undefined): Promise<void> {
  await tx.query({
    name: 'end-waiting',
    text: `delete from service.waiting_profiles where ctid = any(array(
             select ctid from service.waiting_profiles where profile_id = $1 and change = $2
               and not exists (select from service.dirty_days where profile_id = $1) for update skip locked))`,
    values: [profileId, change ?? null],
  })
}

/** Takes profiles from those that wait: they are erased. */
export async function forgetWaiting(tx: Queryable, profileIds: readonly string[]): Promise<void> {
  await tx.query('delete from service.waiting_profiles where profile_id = any($1::uuid[])', [profileIds])
}

/**
 * Schedules the retry of a profile whose derivation failed, with exponential backoff: 2, 4, 8 … s from `nowAt` on, at most
 * 1 h. Until then it does not wait among the others.
 */
export async function recordDerivationFailure(
  db: Queryable,
  failure: { profileId: string; nowAt: Date },
): Promise<void> {
  await db.query({
    name: 'record-derivation-failure',
    text: `with failed as (
             insert into service.derivations as d (profile_id, model_version, as_of, failures, retry_at, wake_at)
             select profile_id, '', $2, 1, $2::timestamptz + interval '2 seconds', $2::timestamptz + interval '2 seconds'
             from service.profiles where profile_id = $1
             on conflict (profile_id) do update set failures = d.failures + 1,
               retry_at = $2::timestamptz + least(interval '1 hour', interval '1 second' * 2 ^ least(d.failures + 1, 12)),
               wake_at = $2::timestamptz + least(interval '1 hour', interval '1 second' * 2 ^ least(d.failures + 1, 12))
           )
           delete from service.waiting_profiles where profile_id = $1`,
    values: [failure.profileId, failure.nowAt],
  })
}

/** Makes every profile due that another model derived. */
export async function markOlderModelsDue(db: Queryable): Promise<void> {
  await db.query(
    `update service.derivations set due_at = '-infinity', wake_at = '-infinity' where model_version <> $1`,
    [modelVersion],
  )
}
