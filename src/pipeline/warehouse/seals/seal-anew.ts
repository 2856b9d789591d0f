import { type Pool, transaction } from '../postgres/warehouse-pool.ts'
import { createKeyring, openToken, sealToken } from './keyring.ts'
import { sealTombstoneKey } from './tombstone-key.ts'

const TOKENS_AT_ONCE = 200

type SealedRow = { account: string; profile_id: string | null; generation: string; sealed: Buffer }

/**
 * Seals again with the first key the secrets that another key sealed: tokens, and the key of the tombstones. Safe to run at any time, by
 * several processes at once, and to stop in the middle: a token that is renewed meanwhile is left alone. Returns how many tokens
 * were sealed again.
 */
export async function sealAnew(
  pool: Pool,
  keys: readonly Buffer[],
  isStopping: () => boolean = () => false,
): Promise<number> {
  const keyring = createKeyring(keys)
  let sealed = 0
  for (let after: Pick<SealedRow, 'account' | 'profile_id'> | undefined; !isStopping(); ) {
    const rows: readonly SealedRow[] = await readTokensAfter(pool, after)
    const changed = rows.flatMap((row) => {
      if (keyring.isCurrent(row.sealed)) return []
      const of = {
        name: { account: row.account, profileId: row.profile_id ?? undefined },
        generation: Number(row.generation),
      }
      const secrets = openToken(keyring, of, row.sealed)
      return secrets ? [{ ...row, anew: sealToken(keyring, of, secrets) }] : []
    })
    sealed += await replaceSealed(pool, changed)
    after = rows.at(-1)
    if (rows.length < TOKENS_AT_ONCE) break
  }
  await transaction(pool, (tx) => sealTombstoneKey(tx, keyring))
  return sealed
}

async function readTokensAfter(
  pool: Pool,
  after: Pick<SealedRow, 'account' | 'profile_id'> | undefined,
): Promise<SealedRow[]> {
  const { rows } = await pool.query<SealedRow>(
    `select account, profile_id::text, generation::text, sealed from vitalsync.tokens
     where sealed is not null and ($1::text is null or (account, coalesce(profile_id, 0)) > ($1, $2::bigint))
     order by account, coalesce(profile_id, 0) limit ${TOKENS_AT_ONCE}`,
    [after?.account ?? null, after?.profile_id ?? '0'],
  )
  return rows
}

async function replaceSealed(pool: Pool, changed: ReadonlyArray<SealedRow & { anew: Buffer }>): Promise<number> {
  if (changed.length === 0) return 0
  const { rowCount } = await pool.query(
    `update vitalsync.tokens t set sealed = c.anew
     from unnest($1::text[], $2::bigint[], $3::bytea[], $4::bytea[]) c(account, profile_id, former, anew)
     where t.account = c.account and t.profile_id is not distinct from c.profile_id and t.sealed = c.former`,
    [
      changed.map(({ account }) => account),
      changed.map(({ profile_id }) => profile_id),
      changed.map(({ sealed }) => sealed),
      changed.map(({ anew }) => anew),
    ],
  )
  return rowCount ?? 0
}
