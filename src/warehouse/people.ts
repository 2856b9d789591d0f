import type { Pool } from './pool.ts'

export type Person = {
  externalId: string
  state: 'new' | 'active' | 'gone'
  wantedFrom: Date
  addedAt: Date
  finishedAt: Date | null
  dueAt: Date
  failures: number
  refused: number
  quarantined: number
  waiting: number
}

export type PersonStream = { stream: string; covered: string; checkpoint: Date | null; readAt: Date | null }

export type People = {
  /** In the order of their arrival, from after `afterId` on, each with our own id. */
  list(filter: { state?: string | undefined }, page: { afterId: string; limit: number }): Promise<(Person & Own)[]>
  show(externalId: string): Promise<(Person & Own & { streams: PersonStream[] }) | undefined>
  /** Ours by upstream's name; those we do not know are missing. */
  idsOf(externalIds: readonly string[]): Promise<Map<string, string>>
  /** Every table that holds rows of this profile, with how many: after an erasure there must be none. */
  traces(profileId: string): Promise<Array<{ table: string; rows: number }>>
}

type Own = { profileId: string }

const columns = `p.id as "profileId", p.external_id as "externalId", p.state, p.wanted_from as "wantedFrom",
  p.added_at as "addedAt", p.finished_at as "finishedAt", p.due_at as "dueAt",
  (select count(*) from vitalsync.failures x where x.profile_id = p.id)::int as failures,
  (select count(*) from vitalsync.refusals x where x.profile_id = p.id)::int as refused,
  (select count(*) from vitalsync.quarantine x where x.profile_id = p.id)::int as quarantined,
  (select coalesce(sum(x.waiting), 0) from vitalsync.parcels x where x.profile_id = p.id)::int as waiting`

export function openPeople({ pool }: { pool: Pool }): People {
  return {
    async list({ state }, { afterId, limit }) {
      const text = `select ${columns} from vitalsync.profiles p where p.id > $1 and ($2::text is null or p.state = $2)
        order by p.id limit $3`
      return (await pool.query(text, [afterId, state ?? null, limit])).rows
    },
    async show(externalId) {
      const { rows } = await pool.query(`select ${columns} from vitalsync.profiles p where p.external_id = $1`, [
        externalId,
      ])
      if (!rows[0]) return undefined
      const streams = await pool.query(
        `select stream, covered::text, checkpoint,
           (select read_at from vitalsync.ledger l where l.profile_id = $2 and l.stream = c.stream) as "readAt"
         from warehouse.coverage c where external_id = $1 order by stream`,
        [externalId, rows[0].profileId],
      )
      return { ...rows[0], streams: streams.rows }
    },
    async idsOf(externalIds) {
      const { rows } = await pool.query(
        'select external_id, id from vitalsync.profiles where external_id = any($1::text[])',
        [externalIds],
      )
      return new Map(rows.map((row) => [row.external_id, row.id]))
    },
    async traces(profileId) {
      const tables = await pool.query(
        `select table_name as name from information_schema.columns c
           join information_schema.tables t using (table_schema, table_name)
         where table_schema = 'vitalsync' and column_name = 'profile_id' and table_type = 'BASE TABLE' order by 1`,
      )
      const traces = []
      for (const { name } of [...tables.rows, { name: 'profiles' }]) {
        const column = name === 'profiles' ? 'id' : 'profile_id'
        const text = `select count(*)::int as n from vitalsync.${name} where ${column} = $1`
        traces.push({ table: String(name), rows: (await pool.query(text, [profileId])).rows[0].n as number })
      }
      return traces
    },
  }
}
