import type { Catalogue } from '../../transfer/stream.ts'
import { type Pool, transaction } from '../postgres/warehouse-pool.ts'
import { createKeyring, type Keyring } from '../seals/keyring.ts'
import { erasedAmong, eraseProfileRows } from './erasure.ts'
import { createProfileLists } from './profile-lists.ts'

type NewProfiles = { readonly wantedFrom: Date; readonly state: 'new' | 'active' }

export type AddedProfiles = { readonly added: number; readonly known: number; readonly erased: number }

type ProfilesOptions = {
  readonly pool: Pool
  readonly catalogue: Catalogue
  /** By which the erased are known again; none where nobody is added or erased. */
  readonly tokenKeys: readonly Buffer[]
}

export type Profiles = ReturnType<typeof createProfiles>

export function createProfiles({ pool, catalogue, tokenKeys }: ProfilesOptions) {
  const keyring = createKeyring(tokenKeys)
  const { pulled, pushed } = catalogue
  const ledgerStreams = [...new Set([...pulled, ...pushed].map((stream) => stream.name))]
  return {
    ...createProfileLists(pool, pulled),
    /** Adds profiles to the sync. Known profiles stay as they are; erased profiles stay erased. */
    add: (externalIds: readonly string[], options: NewProfiles) =>
      addProfiles({ pool, ledgerStreams, keyring }, externalIds, options),
    async findId(externalId: string): Promise<{ profileId: string } | undefined> {
      const { rows } = await pool.query<{ profileId: string }>(
        'select id as "profileId" from vitalsync.names where external_id = $1',
        [externalId],
      )
      return rows[0]
    },
    /**
     * Notes, before a registration is sent, that it may take effect upstream within `leaseMs`. `setState` to active notes that it
     * has ended. False when the profile is erased, or gone: then it must not be registered.
     */
    async beginRegistration(profileId: string, leaseMs: number) {
      const { rowCount } = await pool.query(
        `update vitalsync.profiles set registering_until = statement_timestamp() + $2 * interval '1 millisecond'
         where id = $1 and state <> 'gone'`,
        [profileId, leaseMs],
      )
      return rowCount === 1
    },
    /** Notes that a registration has ended, or was undone. */
    async endRegistration(profileId: string) {
      await pool.query('update vitalsync.profiles set registering_until = null where id = $1', [profileId])
    },
    /** How much longer a registration may take effect, if its worker died. */
    async registrationLeftMs(profileId: string) {
      const { rows } = await pool.query<{ ms: number | null }>(
        `select (extract(epoch from registering_until - statement_timestamp()) * 1000)::float8 as ms
         from vitalsync.profiles where id = $1`,
        [profileId],
      )
      return Math.max(0, rows[0]?.ms ?? 0)
    },
    /** A profile that is gone stays gone. False when the profile is erased, or gone. */
    async setState(profileId: string, state: 'active' | 'gone') {
      const { rowCount } = await pool.query(
        `update vitalsync.profiles set state = $2, registering_until = case when $2 = 'gone' then registering_until end
         where id = $1 and (state <> 'gone' or $2 = 'gone')`,
        [profileId, state],
      )
      return rowCount === 1
    },
    /** Which of them were erased. */
    erasedAmong: (externalIds: readonly string[]) => erasedAmong(pool, externalIds, keyring),
    /** Removes every row of a profile in one transaction and keeps a keyed hash of its name. Returns the counts by table. */
    erase: (profileId: string) => transaction(pool, (tx) => eraseProfileRows(tx, profileId, keyring)),
  }
}

async function addProfiles(
  { pool, ledgerStreams, keyring }: { pool: Pool; ledgerStreams: readonly string[]; keyring: Keyring },
  externalIds: readonly string[],
  { wantedFrom, state }: NewProfiles,
): Promise<AddedProfiles> {
  const names = [...new Set(externalIds)]
  return transaction(pool, async (tx) => {
    const inserted = await tx.query<{ id: string; external_id: string }>(
      `insert into vitalsync.names (external_id) select x from unnest($1::text[]) x order by x
       on conflict (external_id) do nothing returning id, external_id`,
      [names],
    )
    // Read after the insertion, which waits for an erasure of the same name: before it, that tombstone is not visible yet.
    const erased = await erasedAmong(tx, names, keyring)
    const undone = inserted.rows.filter((row) => erased.has(row.external_id)).map((row) => row.id)
    if (undone.length > 0) await tx.query('delete from vitalsync.names where id = any($1)', [undone])
    const added = inserted.rows.filter((row) => !erased.has(row.external_id))
    await tx.query(
      `insert into vitalsync.profiles (id, external_id, wanted_from, state)
       select i, x, $3, $4 from unnest($1::int8[], $2::text[]) as n(i, x)`,
      [added.map((row) => row.id), added.map((row) => row.external_id), wantedFrom, state],
    )
    await tx.query(
      `insert into vitalsync.ledger (profile_id, stream)
       select i, s from unnest($1::int8[]) i, unnest($2::text[]) s`,
      [added.map((row) => row.id), ledgerStreams],
    )
    return { added: added.length, known: names.length - added.length - erased.size, erased: erased.size }
  })
}

/** People without a cohort here keep the cohort that they have. */
export async function setCohorts(
  pool: Pool,
  people: ReadonlyArray<{ readonly externalId: string; readonly cohort?: string }>,
): Promise<void> {
  const cohorts = new Map(people.flatMap(({ externalId, cohort }) => (cohort ? [[externalId, cohort]] : [])))
  if (cohorts.size === 0) return
  const { rows } = await pool.query<{ id: string; name: string }>(
    'select id, external_id as name from vitalsync.names where external_id = any($1::text[])',
    [[...cohorts.keys()]],
  )
  for (const part of pool.division.split(rows, ({ id }) => id))
    await pool.query(
      `update vitalsync.profiles p set cohort = i.cohort from unnest($1::int8[], $2::text[]) as i(id, cohort)
       where p.id = i.id and p.id = any($1::int8[]) and p.cohort is distinct from i.cohort`,
      [part.map(({ id }) => id), part.map(({ name }) => cohorts.get(name))],
    )
}
