import type { Pool } from './pool.ts'

export type ImportProgress = {
  position: number
  line: number
  rejectsBytes: number
  read: number
  accepted: number
  duplicate: number
  rejected: number
  /** Digest of the bytes just before the position. */
  tail: Buffer
}

export type Imports = {
  /** How far this file came, when it was stopped before its end. */
  unfinished(kind: string, identity: Buffer): Promise<ImportProgress | undefined>
  save(kind: string, identity: Buffer, progress: ImportProgress): Promise<void>
  finish(kind: string, identity: Buffer): Promise<void>
}

export function openImports({ pool }: { pool: Pool }): Imports {
  return {
    async unfinished(kind, identity) {
      const { rows } = await pool.query(
        `select position::float8 as position, line::float8 as line, rejects_bytes::float8 as "rejectsBytes",
           read::float8 as read, accepted::float8 as accepted, duplicate::float8 as duplicate, rejected::float8 as rejected, tail
         from vitalsync.imports where kind = $1 and identity = $2 and finished_at is null`,
        [kind, identity],
      )
      return rows[0]
    },
    async save(kind, identity, at) {
      await pool.query(
        `insert into vitalsync.imports
           (kind, identity, position, line, tail, rejects_bytes, read, accepted, duplicate, rejected)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
         on conflict (kind, identity) do update set position = excluded.position, line = excluded.line,
           tail = excluded.tail, rejects_bytes = excluded.rejects_bytes, read = excluded.read,
           accepted = excluded.accepted, duplicate = excluded.duplicate, rejected = excluded.rejected,
           touched_at = clock_timestamp(), finished_at = null`,
        [
          kind,
          identity,
          at.position,
          at.line,
          at.tail,
          at.rejectsBytes,
          at.read,
          at.accepted,
          at.duplicate,
          at.rejected,
        ],
      )
    },
    async finish(kind, identity) {
      await pool.query(
        `update vitalsync.imports set finished_at = clock_timestamp() where kind = $1 and identity = $2`,
        [kind, identity],
      )
    },
  }
}
