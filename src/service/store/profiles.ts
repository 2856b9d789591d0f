import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import type { ProfileAnswer } from '../../contract/profile.ts'
import { type Queryable, withTransaction } from './pool.ts'

export type NewProfile = {
  accountId: string
  externalId: string
  now: Date
  isSample?: boolean
  /** Absent: a random one. A sandbox gives its own, so that one seed gives one world. */
  profileId?: string
}

/** Undefined when the account has a profile of this externalId already. */
export async function createProfile(db: Queryable, profile: NewProfile): Promise<string | undefined> {
  const { rows } = await db.query<{ profile_id: string }>({
    name: 'create-profile',
    text: `insert into service.profiles (profile_id, account_id, external_id, is_sample, created_at)
           values ($1, $2, $3, $4, $5) on conflict (account_id, external_id) do nothing returning profile_id`,
    values: [
      profile.profileId ?? randomUUID(),
      profile.accountId,
      profile.externalId,
      profile.isSample ?? false,
      profile.now,
    ],
  })
  return rows[0]?.profile_id
}

export async function findProfileId(
  db: Queryable,
  name: { accountId: string; externalId: string },
): Promise<string | undefined> {
  const { rows } = await db.query<{ profile_id: string }>({
    name: 'find-profile-id',
    text: 'select profile_id from service.profiles where account_id = $1 and external_id = $2',
    values: [name.accountId, name.externalId],
  })
  return rows[0]?.profile_id
}

type ProfileRow = {
  profile_id: string
  account_id: string
  external_id: string
  is_sample: boolean
  created_at: Date
  data_last_received_at: Date | null
  device: { sdkId?: string; sdkVersion?: string; deviceType?: string } | null
  sources: Array<{ sourceName: string; deviceType: string }> | null
}

const sourcesShownMax = 100

const profileColumns = `p.profile_id, p.account_id, p.external_id, p.is_sample, p.created_at, p.data_last_received_at,
  (select d.fields from service.device_information d where d.profile_id = p.profile_id) as device,
  (select jsonb_agg(jsonb_build_object('sourceName', s.source_name, 'deviceType', s.device_type)
                    order by s.source_name, s.device_type)
   from (select source_name, device_type from service.data_sources where profile_id = p.profile_id
         order by source_name, device_type limit ${sourcesShownMax}) s) as sources`

export async function findProfile(
  db: Queryable,
  name: { accountId: string; externalId: string },
): Promise<ProfileAnswer | undefined> {
  const { rows } = await db.query<ProfileRow>({
    name: 'find-profile',
    text: `select ${profileColumns} from service.profiles p where p.account_id = $1 and p.external_id = $2`,
    values: [name.accountId, name.externalId],
  })
  return rows[0] && profileAnswer(rows[0])
}

export type ProfileSearch = { accountId: string; searchParameter: string | undefined; page: number; pageSize: number }

/** Profiles whose externalId holds the words, whatever their case, in order of externalId. */
export async function searchProfiles(
  db: Queryable,
  search: ProfileSearch,
): Promise<{ items: ProfileAnswer[]; totalCount: number }> {
  const where = `p.account_id = $1 and ($2 = '' or strpos(lower(p.external_id), lower($2)) > 0)`
  const words = search.searchParameter ?? ''
  const counted = await db.query<{ count: string }>({
    name: 'count-profiles',
    text: `select count(*) as count from service.profiles p where ${where}`,
    values: [search.accountId, words],
  })
  const { rows } = await db.query<ProfileRow>({
    name: 'search-profiles',
    text: `select ${profileColumns} from service.profiles p where ${where}
           order by p.external_id limit $3 offset $4`,
    values: [search.accountId, words, search.pageSize, (search.page - 1) * search.pageSize],
  })
  return { items: rows.map(profileAnswer), totalCount: Number(counted.rows[0]?.count ?? 0) }
}

/**
 * Takes profiles away with everything that is theirs. Unknown ids are ignored. The profile's row goes first: an upload
 * in flight holds it, so either its logs are here to be deleted too or it finds no profile.
 */
export async function deleteProfiles(
  pool: pg.Pool,
  names: { accountId: string; externalIds: readonly string[] },
): Promise<number> {
  return withTransaction(pool, async (tx) => {
    // Locked in one order, so that two erasures of overlapping lists cannot wait for each other.
    const { rows } = await tx.query<{ profile_id: string }>(
      `select profile_id from service.profiles where account_id = $1 and external_id = any($2::text[])
       order by profile_id for update`,
      [names.accountId, names.externalIds],
    )
    if (rows.length === 0) return 0
    const ids = rows.map((row) => row.profile_id)
    await tx.query('delete from service.profiles where profile_id = any($1::uuid[])', [ids])
    await tx.query('delete from service.logs where profile_id = any($1::uuid[])', [ids])
    await tx.query('notify service_revocations')
    return ids.length
  })
}

function profileAnswer(row: ProfileRow): ProfileAnswer {
  const { sdkId, sdkVersion, deviceType } = row.device ?? {}
  return {
    profileId: row.profile_id,
    accountId: row.account_id,
    externalId: row.external_id,
    ...(sdkId === undefined ? {} : { sdkId }),
    ...(sdkVersion === undefined ? {} : { sdkVersion }),
    ...(deviceType === undefined ? {} : { deviceType }),
    createdAtUtc: row.created_at.toISOString(),
    dataLastReceivedAtUtc: row.data_last_received_at?.toISOString() ?? null,
    isSampleProfile: row.is_sample,
    dataSources: row.sources ?? [],
  }
}
