import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import type { ProfileAnswer } from '../../base/contract/profile.ts'
import { type Queryable, withTransaction } from './service-pool.ts'
import { forgetWaiting } from './waiting-profiles.ts'

type NewProfile = {
  accountId: string
  externalId: string
  nowAt: Date
  isSample?: boolean
  /** Absent: a random id. The sandbox passes an id, so that one seed always gives the same profiles. */
  profileId?: string
}

/**
 * Creates a profile and returns its id; undefined when the account already has a profile of this externalId. If two pass
 * the same id at once, the second may meet the key of the id first.
 */
export async function createProfile(db: Queryable, profile: NewProfile): Promise<string | undefined> {
  const { rows } = await db.query<{ profile_id: string }>({
    name: 'create-profile',
    text: `insert into service.profiles (profile_id, account_id, external_id, is_sample, created_at, search_text)
           values ($1, $2, $3, $4, $5, $6) on conflict do nothing returning profile_id`,
    values: [
      profile.profileId ?? randomUUID(),
      profile.accountId,
      profile.externalId,
      profile.isSample ?? false,
      profile.nowAt,
      searchTextOf(profile.externalId),
    ],
  })
  return rows[0]?.profile_id
}

/**
 * The text by which searches compare: without a difference of case by the rules of Unicode (ß is ss, σ is ς, İ is i), in one spelling
 * of composed letters (NFC). `search_text` is written by it, and a search is made by it.
 */
export function searchTextOf(text: string): string {
  // Lower case first, for ẞ has no upper case of two letters; upper case then unites the letters that share it.
  const folded = text.normalize('NFD').toLowerCase().toUpperCase().toLowerCase()
  return folded.replaceAll('ς', 'σ').replaceAll('i\u0307', 'i').normalize('NFC')
}

/** Locks the profile's row against concurrent writes of its data, until the transaction ends; false when it is gone. */
export async function lockProfileRow(tx: Queryable, profileId: string): Promise<boolean> {
  const { rowCount } = await tx.query('select from service.profiles where profile_id = $1 for no key update', [
    profileId,
  ])
  return rowCount === 1
}

export async function findProfileId(
  db: Queryable,
  profile: { accountId: string; externalId: string },
): Promise<string | undefined> {
  const { rows } = await db.query<{ profile_id: string }>({
    name: 'find-profile-id',
    text: 'select profile_id from service.profiles where account_id = $1 and external_id = $2',
    values: [profile.accountId, profile.externalId],
  })
  return rows[0]?.profile_id
}

export type ProfileRow = Omit<ProfileAnswer, 'createdAtUtc' | 'dataLastReceivedAtUtc'> & {
  createdAtUtc: Date
  dataLastReceivedAtUtc: Date | null
  device: Pick<ProfileAnswer, 'sdkId' | 'sdkVersion' | 'deviceType'> | null
}

const sourcesShownMax = 100

export const profileColumns = `p.profile_id as "profileId", p.account_id as "accountId", p.external_id as "externalId",
  p.created_at as "createdAtUtc", p.data_last_received_at as "dataLastReceivedAtUtc", p.is_sample as "isSampleProfile",
  (select d.fields from service.device_information d where d.profile_id = p.profile_id) as device,
  (select coalesce(jsonb_agg(jsonb_build_object('sourceName', s.source_name, 'deviceType', s.device_type)
                             order by s.source_name, s.device_type), '[]')
   from (select source_name, device_type from service.data_sources where profile_id = p.profile_id
         order by source_name, device_type limit ${sourcesShownMax}) s) as "dataSources"`

export async function findProfile(
  db: Queryable,
  profile: { accountId: string; externalId: string },
): Promise<ProfileAnswer | undefined> {
  const { rows } = await db.query<ProfileRow>({
    name: 'find-profile',
    text: `select ${profileColumns} from service.profiles p where p.account_id = $1 and p.external_id = $2`,
    values: [profile.accountId, profile.externalId],
  })
  return rows[0] && profileAnswer(rows[0])
}

/**
 * Deletes profiles with all of their data. Unknown ids are ignored. The profile's row is deleted first: an upload in
 * flight locks that row, so either its logs are stored already and deleted here, or the upload finds no profile. Returns the ids
 * of the profiles.
 */
export async function deleteProfiles(
  pool: pg.Pool,
  profiles: { accountId: string; externalIds: readonly string[] },
): Promise<string[]> {
  return withTransaction(pool, async (tx) => {
    // Locked in one order, so that two deletions of overlapping lists cannot deadlock.
    const { rows } = await tx.query<{ profile_id: string }>(
      `select profile_id from service.profiles where account_id = $1 and external_id = any($2::text[])
       order by profile_id for update`,
      [profiles.accountId, profiles.externalIds],
    )
    if (rows.length === 0) return []
    const ids = rows.map((row) => row.profile_id)
    await tx.query('delete from service.profiles where profile_id = any($1::uuid[])', [ids])
    await deleteLogs(tx, ids)
    await forgetWaiting(tx, ids)
    await tx.query('notify service_revocations')
    return ids
  })
}

/** Each statement ends well within the time that a statement may take, however many logs there are. */
const logsPerDelete = 50_000

async function deleteLogs(tx: Queryable, profileIds: readonly string[]): Promise<void> {
  for (let deleted = logsPerDelete; deleted === logsPerDelete; ) {
    const { rowCount } = await tx.query(
      `delete from service.logs where ctid = any(array(
         select ctid from service.logs where profile_id = any($1::uuid[]) limit ${logsPerDelete}))`,
      [profileIds],
    )
    deleted = rowCount ?? 0
  }
}

export function profileAnswer({ device, createdAtUtc, dataLastReceivedAtUtc, ...row }: ProfileRow): ProfileAnswer {
  const { sdkId, sdkVersion, deviceType } = device ?? {}
  return {
    ...row,
    ...(sdkId === undefined ? {} : { sdkId }),
    ...(sdkVersion === undefined ? {} : { sdkVersion }),
    ...(deviceType === undefined ? {} : { deviceType }),
    createdAtUtc: createdAtUtc.toISOString(),
    dataLastReceivedAtUtc: dataLastReceivedAtUtc?.toISOString() ?? null,
  }
}
