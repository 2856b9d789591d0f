import type { ProfileState } from '../../transfer/planned-profile.ts'
import type { Pool } from '../postgres/warehouse-pool.ts'

type ListedProfile = {
  externalId: string
  state: ProfileState
  wantedFrom: Date
  addedAt: Date
  finishedAt: Date | null
  dueAt: Date
  failures: number
  refused: number
  quarantined: number
  waiting: number
}

type ListedDevice = {
  type: string | null
  model: string | null
  system: string | null
  systemVersion: string | null
  timeZone: string | null
  readAt: Date
}

type OwnId = { profileId: string }

const profileColumns = `p.id as "profileId", p.external_id as "externalId", p.state, p.wanted_from as "wantedFrom",
  p.added_at as "addedAt", p.finished_at as "finishedAt", p.due_at as "dueAt",
  (select count(*) from vitalsync.failures x where x.profile_id = p.id)::int as failures,
  (select count(*) from vitalsync.refusals x where x.profile_id = p.id)::int as refused,
  (select count(*) from vitalsync.quarantine x where x.profile_id = p.id)::int as quarantined,
  (select coalesce(sum(x.waiting), 0) from vitalsync.parcels x where x.profile_id = p.id)::int as waiting`

export function createProfileReport({ pool }: { pool: Pool }) {
  return {
    /** In the order in which they were added, after `afterId`, each with its id in the warehouse. */
    async list({ state }: { state?: string | undefined }, { afterId, limit }: { afterId: string; limit: number }) {
      const { rows } = await pool.query<ListedProfile & OwnId>(
        `select ${profileColumns} from vitalsync.profiles p where p.id > $1 and ($2::text is null or p.state = $2)
         order by p.id limit $3`,
        [afterId, state ?? null, limit],
      )
      return rows
    },
    async show(externalId: string) {
      const named = await pool.query<{ id: string }>('select id from vitalsync.names where external_id = $1', [
        externalId,
      ])
      const found = await pool.query<ListedProfile & OwnId>(
        `select ${profileColumns} from vitalsync.profiles p where p.id = $1`,
        [named.rows[0]?.id],
      )
      const [profile] = found.rows
      return profile && { ...profile, streams: await listStreams(pool, profile) }
    },
    /** The ids in the warehouse by the names upstream. Unknown names are missing. */
    idsOf: (externalIds: readonly string[]) => idsOf(pool, externalIds),
    /** The same, without the people who were never registered upstream. */
    registeredIdsOf: (externalIds: readonly string[]) => registeredIdsOf(pool, externalIds),
    /** The devices that upstream lists, the newest first. */
    async listDevices(profileId: string) {
      const { rows } = await pool.query<ListedDevice>(
        `select device_type as type, device_model as model, system, system_version as "systemVersion",
           time_zone as "timeZone", read_at as "readAt"
         from vitalsync.device_information where profile_id = $1 and gone_at is null order by read_at desc limit 20`,
        [profileId],
      )
      return rows
    },
    /** Every table with a column for profiles, and the count of rows of this profile: 0 everywhere after an erasure. */
    countRows: (profileId: string) => countRows(pool, profileId),
  }
}

async function idsOf(pool: Pool, externalIds: readonly string[]): Promise<Map<string, string>> {
  const { rows } = await pool.query<{ external_id: string; id: string }>(
    'select external_id, id from vitalsync.names where external_id = any($1::text[])',
    [externalIds],
  )
  return new Map(rows.map((row) => [row.external_id, row.id]))
}

async function registeredIdsOf(pool: Pool, externalIds: readonly string[]): Promise<Map<string, string>> {
  const named = await idsOf(pool, externalIds)
  const { rows } = await pool.query<{ external_id: string; id: string }>(
    `select external_id, id from vitalsync.profiles where id = any($1::int8[]) and state <> 'new'`,
    [[...named.values()]],
  )
  return new Map(rows.map((row) => [row.external_id, row.id]))
}

async function listStreams(pool: Pool, { profileId, externalId }: ListedProfile & OwnId) {
  const covered = await pool.query<{ stream: string; covered: string; checkpoint: Date | null }>(
    'select stream, covered::text, checkpoint from warehouse.coverage c where external_id = $1 order by stream',
    [externalId],
  )
  const read = await pool.query<{ stream: string; readAt: Date | null }>(
    'select stream, read_at as "readAt" from vitalsync.ledger where profile_id = $1',
    [profileId],
  )
  const readAt = new Map(read.rows.map((row) => [row.stream, row.readAt]))
  return covered.rows.map((row) => ({ ...row, readAt: readAt.get(row.stream) ?? null }))
}

async function countRows(pool: Pool, profileId: string): Promise<Array<{ table: string; rows: number }>> {
  const tables = await pool.query<{ name: string; quoted: string }>(
    `select table_name as name, quote_ident(table_name) as quoted from information_schema.columns c
       join information_schema.tables t using (table_schema, table_name)
     where table_schema = 'vitalsync' and column_name = 'profile_id' and table_type = 'BASE TABLE' order by 1`,
  )
  const counted = [
    ...tables.rows.map((table) => ({ ...table, column: 'profile_id' })),
    { name: 'profiles', quoted: 'profiles', column: 'id' },
    { name: 'names', quoted: 'names', column: 'id' },
  ].map(({ name, quoted, column }) => ({
    name,
    sql: `(select count(*)::int from vitalsync.${quoted} where ${column} = $1)`,
  }))
  const { rows } = await pool.query<{ counts: number[] }>(
    `select array[${counted.map(({ sql }) => sql).join(', ')}] as counts`,
    [profileId],
  )
  return counted.map(({ name }, index) => ({ table: name, rows: rows[0]?.counts[index] ?? 0 }))
}
