import { randomBytes } from 'node:crypto'
import { UsageProblem } from '../../../base/errors.ts'
import type { Pool, Tx } from '../postgres/warehouse-pool.ts'
import { createKeyring, type Keyring } from './keyring.ts'

/**
 * The key of the hashes by which erased people are known again. It is stored encrypted in `vitalsync.secrets`: who has the database
 * without TOKEN_KEY cannot try names against the hashes.
 */

const PLACE = 'vitalsync.secrets|tombstone-key'

type Found = { sealed: Buffer | undefined; hasTombstones: boolean }

/** Undefined while nobody is erased; then no key is needed. */
export async function readTombstoneKey(from: Pool | Tx, keyring: Keyring): Promise<Buffer | undefined> {
  const found = await find(from)
  if (!found.hasTombstones) return undefined
  const key = opened(found, keyring)
  if (key) return key
  throw unreadable()
}

/** Whether the keys open the key of the tombstones; `absent`: it is not made yet, or no one is erased. Changes nothing. */
export async function examineTombstoneKey({
  pool,
  keys,
}: {
  pool: Pool
  keys: readonly Buffer[]
}): Promise<'absent' | 'opens' | 'opens with a former key' | 'closed'> {
  const keyring = createKeyring(keys)
  const found = await find(pool)
  if (!found.hasTombstones) return 'absent'
  if (opened(found, keyring) === undefined) return 'closed'
  return found.sealed && keyring.isCurrent(found.sealed) ? 'opens' : 'opens with a former key'
}

/** For the first erasure a key is made; one that no key opens gives way only where no hash was made with it. */
export async function readOrMakeTombstoneKey(tx: Tx, keyring: Keyring): Promise<Buffer> {
  const known = opened(await find(tx), keyring)
  if (known) return known
  return sealTombstoneKey(tx, keyring)
}

/** Seals the key with the first key of the ring, where it is not yet. Other processes may do the same at once. */
export async function sealTombstoneKey(tx: Tx, keyring: Keyring): Promise<Buffer> {
  await tx.query('lock table vitalsync.secrets in exclusive mode')
  const found = await find(tx)
  const key = opened(found, keyring) ?? (found.hasTombstones ? undefined : randomBytes(32))
  if (!key) throw unreadable()
  if (found.sealed && keyring.isCurrent(found.sealed) && opened(found, keyring)) return key
  await tx.query(
    `insert into vitalsync.secrets values ('tombstone-key', $1) on conflict (name) do update set value = excluded.value`,
    [keyring.seal(key.toString('base64'), PLACE)],
  )
  return key
}

async function find(from: Pool | Tx): Promise<Found> {
  const { rows } = await from.query<{ sealed: Buffer | null; has_tombstones: boolean }>(
    `select (select value from vitalsync.secrets where name = 'tombstone-key') as sealed,
            exists(select from vitalsync.tombstones) as has_tombstones`,
  )
  const [row] = rows
  return { sealed: row?.sealed ?? undefined, hasTombstones: row?.has_tombstones ?? false }
}

function opened({ sealed }: Found, keyring: Keyring): Buffer | undefined {
  const text = sealed && keyring.open(sealed, PLACE)
  return text === undefined ? undefined : Buffer.from(text, 'base64')
}

const unreadable = () =>
  new UsageProblem('know erased people again: TOKEN_KEY does not open the key of their hashes', {
    hint: 'Set TOKEN_KEY as the workers have it. Where it changed: `new,old`, both keys. Where the old one is lost: docs/reference/upstream.md.',
  })
