import type { Pool } from '../postgres/warehouse-pool.ts'

/** Up to where a file was imported. */
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

/** A file, by the stream that it was imported into and a digest of its beginning. */
type ImportedFile = { readonly stream: string; readonly identity: Buffer }

export type Imports = ReturnType<typeof createImports>

export function createImports({ pool }: { pool: Pool }) {
  return {
    /** The progress of an import of this file that was stopped before the file's end. */
    async findUnfinished({ stream, identity }: ImportedFile): Promise<ImportProgress | undefined> {
      const { rows } = await pool.query<ImportProgress>(unfinishedQuery, [stream, identity])
      return rows[0]
    },
    /** Whether an import of this file came to its end, and none was begun since. */
    async isFinished({ stream, identity }: ImportedFile) {
      const { rowCount } = await pool.query(
        'select 1 from vitalsync.imports where kind = $1 and identity = $2 and finished_at is not null',
        [stream, identity],
      )
      return rowCount === 1
    },
    async save({ stream, identity }: ImportedFile, progress: ImportProgress) {
      const { position, line, tail, rejectsBytes, read, accepted, duplicate, rejected } = progress
      const counts = [read, accepted, duplicate, rejected]
      await pool.query(saveQuery, [stream, identity, position, line, tail, rejectsBytes, ...counts])
    },
    async finish({ stream, identity }: ImportedFile) {
      await pool.query(
        'update vitalsync.imports set finished_at = clock_timestamp() where kind = $1 and identity = $2',
        [stream, identity],
      )
    },
  }
}

const unfinishedQuery = `
  select position::float8 as position, line::float8 as line, rejects_bytes::float8 as "rejectsBytes",
    read::float8 as read, accepted::float8 as accepted, duplicate::float8 as duplicate, rejected::float8 as rejected, tail
  from vitalsync.imports where kind = $1 and identity = $2 and finished_at is null`

const saveQuery = `
  insert into vitalsync.imports (kind, identity, position, line, tail, rejects_bytes, read, accepted, duplicate, rejected)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
  on conflict (kind, identity) do update set position = excluded.position, line = excluded.line,
    tail = excluded.tail, rejects_bytes = excluded.rejects_bytes, read = excluded.read,
    accepted = excluded.accepted, duplicate = excluded.duplicate, rejected = excluded.rejected,
    touched_at = clock_timestamp(), finished_at = null`
