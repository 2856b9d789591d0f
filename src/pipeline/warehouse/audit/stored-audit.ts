import type { Pool, Tx } from '../postgres/warehouse-pool.ts'

/** An action, or a look at health values. `what` holds our own ids and settings, no names and no values. */
type AuditEntry = {
  readonly who: string
  readonly role: string
  readonly action: string
  readonly profileId?: string | undefined
  readonly what?: Readonly<Record<string, unknown>>
}

export type Audit = ReturnType<typeof createAudit>

export const createAudit = ({ pool }: { pool: Pool }) => ({ record: (entry: AuditEntry) => writeAudit(pool, entry) })

export async function writeAudit(
  db: Pool | Tx,
  { who, role, action, profileId, what = {} }: AuditEntry,
): Promise<void> {
  await db.query(
    `insert into vitalsync.audit (who, role, action, profile_id, what)
         select $1, $2, $3, (select id from vitalsync.names where id = $4::int8), $5`,
    [who, role, action, profileId ?? null, what],
  )
}

/** The id of the newest entry; null: there is none. */
export async function newestAuditId(pool: Pool): Promise<string | null> {
  const { rows } = await pool.query<{ id: string | null }>('select max(id)::text as id from vitalsync.audit')
  return rows[0]?.id ?? null
}

type StoredEntry = {
  readonly id: string
  readonly at: Date
  readonly who: string
  readonly role: string
  readonly action: string
  /** Null: it concerned nobody, or an erased person. */
  readonly profileId: string | null
  readonly externalId: string | null
  readonly what: Readonly<Record<string, unknown>>
}

type AuditPage = {
  /** Empty: of everybody. */
  readonly who: string
  /** Empty: every action. */
  readonly action: string
  readonly profileId?: string | undefined
  /** The entry after which the page begins, the newest first. */
  readonly before?: string | undefined
  readonly limit: number
}

/** The newest entries are searched for the names and actions that a filter offers. */
const ENTRIES_SEARCHED = 10_000

/** A page of the entries, the newest first, and whom and what they can be filtered by. */
export async function readAuditPage(
  pool: Pool,
  { who, action, profileId, before, limit }: AuditPage,
): Promise<{ entries: StoredEntry[]; names: string[]; actions: string[] }> {
  const { rows: entries } = await pool.query<StoredEntry>(
    `select a.id::text as id, a.at, a.who, a.role, a.action, a.profile_id::text as "profileId",
       n.external_id as "externalId", a.what
     from vitalsync.audit a left join vitalsync.names n on n.id = a.profile_id
     where ($1 = '' or a.who = $1) and ($2 = '' or a.action = $2) and ($3::int8 is null or a.profile_id = $3)
       and ($4::int8 is null or a.id < $4)
     order by a.id desc limit $5`,
    [who, action, profileId ?? null, before ?? null, limit],
  )
  const { rows } = await pool.query<{ names: string[] | null; actions: string[] | null }>(
    `select array_agg(distinct who order by who) as names, array_agg(distinct action order by action) as actions
     from (select who, action from vitalsync.audit order by id desc limit ${ENTRIES_SEARCHED}) newest`,
  )
  return { entries, names: rows[0]?.names ?? [], actions: rows[0]?.actions ?? [] }
}
