import type { ApiKeyKind } from './credentials/api-keys.ts'
import { hashSecret } from './credentials/secrets.ts'
import type { Queryable } from './service-pool.ts'

/** Creates a key with the given id and secret unless one of that id exists. Stores only the hash of the secret. */
export async function ensureApiKey(
  db: Queryable,
  key: { accountId: string; kind: ApiKeyKind; publicId: string; secret: string; label: string; nowAt: Date },
): Promise<void> {
  await db.query(
    `insert into service.api_keys (public_id, account_id, kind, secret_hash, label, created_at)
     values ($1, $2, $3, $4, $5, $6) on conflict (public_id) do nothing`,
    [key.publicId, key.accountId, key.kind, hashSecret(key.secret), key.label, key.nowAt],
  )
}

/** The sample profiles of an account. `isComplete`: the device information, which is stored last, exists. */
export async function listSampleProfiles(
  db: Queryable,
  accountId: string,
): Promise<Array<{ externalId: string; isComplete: boolean }>> {
  const { rows } = await db.query<{ externalId: string; isComplete: boolean }>(
    `select p.external_id as "externalId",
            exists (select from service.device_information d where d.profile_id = p.profile_id) as "isComplete"
     from service.profiles p where p.account_id = $1 and p.is_sample`,
    [accountId],
  )
  return rows
}

/** Days whose derivation is due. */
export async function countDirtyDays(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ days: number }>('select count(*)::int as days from service.dirty_days')
  return rows[0]?.days ?? 0
}

export async function findExternalId(db: Queryable, profileId: string): Promise<string | undefined> {
  const { rows } = await db.query<{ external_id: string }>({
    name: 'find-external-id',
    text: 'select external_id from service.profiles where profile_id = $1',
    values: [profileId],
  })
  return rows[0]?.external_id
}

/** Every profile that waits for derivation, with the account's name for it. */
export async function listWaitingNames(db: Queryable): Promise<Array<{ profileId: string; externalId: string }>> {
  const { rows } = await db.query<{ profileId: string; externalId: string }>({
    name: 'waiting-names',
    text: `select profile_id as "profileId", external_id as "externalId"
           from service.waiting_profiles join service.profiles using (profile_id)`,
  })
  return rows
}
