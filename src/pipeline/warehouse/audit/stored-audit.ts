import type { Pool } from '../postgres/warehouse-pool.ts'

/** An action, or a look at health values. `what` holds our own ids and settings, no names and no values. */
type AuditEntry = {
  readonly who: string
  readonly role: string
  readonly action: string
  readonly profileId?: string | undefined
  readonly what?: Readonly<Record<string, unknown>>
}

export type Audit = {
  record(entry: AuditEntry): Promise<void>
}

export function createAudit({ pool }: { pool: Pool }): Audit {
  return {
    async record({ who, role, action, profileId, what = {} }) {
      await pool.query(
        `insert into vitalsync.audit (who, role, action, profile_id, what)
         select $1, $2, $3, (select id from vitalsync.names where id = $4::int8), $5`,
        [who, role, action, profileId ?? null, what],
      )
    },
  }
}
