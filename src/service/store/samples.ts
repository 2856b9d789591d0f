import { hashSecret } from '../secrets.ts'
import type { KeyKind } from './keys.ts'
import type { Queryable } from './pool.ts'

/** Makes a key with the given id and secret where there is none of that id. Of the secret only the hash is kept. */
export async function keepKey(
  db: Queryable,
  key: { accountId: string; kind: KeyKind; publicId: string; secret: string; label: string; now: Date },
): Promise<void> {
  await db.query(
    `insert into service.api_keys (public_id, account_id, kind, secret_hash, label, created_at)
     values ($1, $2, $3, $4, $5, $6) on conflict (public_id) do nothing`,
    [key.publicId, key.accountId, key.kind, hashSecret(key.secret), key.label, key.now],
  )
}

/** The sample profiles of an account, and whether the last thing that is stored of one is there. */
export async function listSamples(
  db: Queryable,
  accountId: string,
): Promise<Array<{ externalId: string; profileId: string; isWhole: boolean }>> {
  const { rows } = await db.query<{ externalId: string; profileId: string; isWhole: boolean }>(
    `select p.external_id as "externalId", p.profile_id as "profileId",
            exists (select from service.device_information d where d.profile_id = p.profile_id) as "isWhole"
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
