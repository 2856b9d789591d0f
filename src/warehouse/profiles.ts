import { createHmac } from 'node:crypto'
import type { PulledStream } from '../stream.ts'
import { dropOrders } from './orders.ts'
import { type Pool, type Tx, transaction } from './pool.ts'

export type ProfilePage = { readonly ids: readonly string[]; readonly lastId: string }

export type Profiles = {
  /** Takes people into the sync. Known ones are left alone; the erased stay erased. */
  add(externalIds: readonly string[], options: { wantedFrom: Date; state: 'new' | 'active' }): Promise<AddCounts>
  /** Everybody a nightly has not dealt with since `slotAt`, in pages by id. */
  unfinishedSince(slotAt: Date, afterId: string, limit: number): Promise<ProfilePage>
  /** Everybody for whom something fell due, in pages by id. */
  dueNow(afterId: string, limit: number): Promise<ProfilePage>
  /** Everybody, or those named, in pages by id. */
  page(afterId: string, limit: number, named?: readonly string[]): Promise<ProfilePage>
  find(externalId: string): Promise<{ profileId: string } | undefined>
  /**
   * Notes, before it is sent, that a registration may take effect upstream for so long; 0: that it has ended, as
   * `setState` to active says too. False when the profile is not ours any more, or gone: then there must be none.
   */
  registering(profileId: string, forMs: number): Promise<boolean>
  /** For how long a registration may still take effect, if its worker died. */
  registeringMs(profileId: string): Promise<number>
  /** Who is gone stays gone. False when the profile is not ours any more, or gone. */
  setState(profileId: string, state: 'active' | 'gone'): Promise<boolean>
  isErased(externalId: string): Promise<boolean>
  /** Removes every trace of a person but a salted hash, in one transaction. Says what was removed, table by table. */
  erase(profileId: string): Promise<ReadonlyArray<{ table: string; rows: number }>>
}

export type AddCounts = { readonly added: number; readonly known: number; readonly erased: number }

/** Streams whose pushes are remembered in the ledger beside the pulled ones. */
const pushedOnly = ['data-logs']

export function openProfiles(options: { pool: Pool; streams: readonly PulledStream[] }): Profiles {
  const { pool, streams } = options
  const ledgerStreams = [...streams.map((stream) => stream.name), ...pushedOnly]
  const tables = [...new Set(streams.map((stream) => stream.table))]
  return {
    add: (externalIds, how) => addAll({ pool, ledgerStreams }, externalIds, how),
    unfinishedSince: (slotAt, afterId, limit) =>
      readPage(pool, `p.state <> 'gone' and (p.finished_at is null or p.finished_at < $3)`, [afterId, limit, slotAt]),
    dueNow: (afterId, limit) => readPage(pool, `p.state <> 'gone' and p.due_at <= clock_timestamp()`, [afterId, limit]),
    page: (afterId, limit, named) =>
      readPage(pool, `p.state <> 'gone' and ($3::int8[] is null or p.id = any($3))`, [afterId, limit, named ?? null]),
    async find(externalId) {
      const { rows } = await pool.query('select id from vitalsync.profiles where external_id = $1', [externalId])
      return rows[0] && { profileId: rows[0].id as string }
    },
    async registering(profileId, forMs) {
      const { rowCount } = await pool.query(
        `update vitalsync.profiles set registering_until = clock_timestamp() + $2 * interval '1 millisecond'
         where id = $1 and (state <> 'gone' or $2 = 0)`,
        [profileId, forMs],
      )
      return rowCount === 1
    },
    async registeringMs(profileId) {
      const { rows } = await pool.query(
        `select (extract(epoch from registering_until - clock_timestamp()) * 1000)::float8 as ms
         from vitalsync.profiles where id = $1`,
        [profileId],
      )
      return Math.max(0, rows[0]?.ms ?? 0)
    },
    async setState(profileId, state) {
      const { rowCount } = await pool.query(
        `update vitalsync.profiles set state = $2, registering_until = case when $2 = 'gone' then registering_until end
         where id = $1 and (state <> 'gone' or $2 = 'gone')`,
        [profileId, state],
      )
      return rowCount === 1
    },
    async isErased(externalId) {
      const digest = tombstoneOf(await readSalt(pool), externalId)
      const { rows } = await pool.query('select 1 from vitalsync.tombstones where digest = $1', [digest])
      return rows.length > 0
    },
    erase: (profileId) => transaction(pool, (tx) => eraseIn(tx, profileId, tables)),
  }
}

const tombstoneOf = (salt: Buffer, externalId: string): Buffer => createHmac('sha256', salt).update(externalId).digest()

async function readSalt(from: Pool | Tx): Promise<Buffer> {
  const { rows } = await from.query(`select value from vitalsync.secrets where name = 'tombstone-salt'`)
  return rows[0].value
}

async function readPage(pool: Pool, condition: string, values: unknown[]): Promise<ProfilePage> {
  const { rows } = await pool.query<{ id: string }>(
    `select p.id from vitalsync.profiles p where p.id > $1 and ${condition} order by p.id limit $2`,
    values,
  )
  const ids = rows.map((row) => row.id)
  return { ids, lastId: ids.at(-1) ?? String(values[0]) }
}

async function addAll(
  { pool, ledgerStreams }: { pool: Pool; ledgerStreams: readonly string[] },
  externalIds: readonly string[],
  how: { wantedFrom: Date; state: 'new' | 'active' },
): Promise<AddCounts> {
  const wished = [...new Set(externalIds)]
  return transaction(pool, async (tx) => {
    const born = await tx.query<{ id: string; external_id: string }>(
      `insert into vitalsync.profiles (external_id, wanted_from, state)
       select x, $2, $3 from unnest($1::text[]) x order by x on conflict (external_id) do nothing returning id, external_id`,
      [wished, how.wantedFrom, how.state],
    )
    const erased = await buriedAmong(tx, wished)
    const again = born.rows.filter((row) => erased.has(row.external_id)).map((row) => row.id)
    if (again.length > 0) await tx.query('delete from vitalsync.profiles where id = any($1)', [again])
    await tx.query(
      `insert into vitalsync.ledger (profile_id, stream)
       select i, s from unnest($1::int8[]) i, unnest($2::text[]) s where i <> all($3::int8[])`,
      [born.rows.map((row) => row.id), ledgerStreams, again],
    )
    const added = born.rows.length - again.length
    return { added, known: wished.length - added - erased.size, erased: erased.size }
  })
}

/**
 * Asked for after the insertion, which waits for an erasure of the same name that is under way: before it, the
 * tombstone of that one could not be seen yet.
 */
async function buriedAmong(tx: Tx, externalIds: readonly string[]): Promise<Set<string>> {
  const salt = await readSalt(tx)
  const names = new Map(externalIds.map((externalId) => [tombstoneOf(salt, externalId).toString('hex'), externalId]))
  const { rows } = await tx.query<{ digest: string }>(
    `select encode(digest, 'hex') as digest from vitalsync.tombstones where digest = any(select decode(x, 'hex') from unnest($1::text[]) x)`,
    [[...names.keys()]],
  )
  return new Set(rows.flatMap(({ digest }) => names.get(digest) ?? []))
}

/** The ledger goes first: a reading in flight that finds no ledger row stores nothing. */
async function eraseIn(
  tx: Tx,
  profileId: string,
  tables: readonly string[],
): Promise<Array<{ table: string; rows: number }>> {
  const found = await tx.query('select external_id from vitalsync.profiles where id = $1 for update', [profileId])
  if (!found.rows[0]) return []
  const digest = tombstoneOf(await readSalt(tx), found.rows[0].external_id)
  await tx.query(`insert into vitalsync.tombstones values ($1, clock_timestamp()) on conflict do nothing`, [digest])
  const removed = [{ table: 'orders', rows: await dropOrders(tx, profileId) }]
  const waitingOrAside = ['history', 'quarantine', 'refusals', 'failures', 'parcels', 'items']
  for (const table of ['ledger', ...tables, ...waitingOrAside, 'tokens']) {
    const { rowCount } = await tx.query(`delete from vitalsync.${table} where profile_id = $1`, [profileId])
    removed.push({ table, rows: rowCount ?? 0 })
  }
  const { rowCount } = await tx.query('delete from vitalsync.profiles where id = $1', [profileId])
  return [...removed, { table: 'profiles', rows: rowCount ?? 0 }]
}
