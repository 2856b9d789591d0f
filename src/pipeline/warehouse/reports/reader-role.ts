import { escapeIdentifier } from 'pg'
import { UsageProblem } from '../../../base/errors.ts'
import { listTablePlaces } from '../divided/distributed-tables.ts'
import { sqlState } from '../postgres/sql-errors.ts'
import { type Connection, type Pool, transaction } from '../postgres/warehouse-pool.ts'

/** The role for analysts: reads the public views and nothing else. */
export const READER_ROLE = 'vitalsync_reader'

/** Grants the reader role its rights, where the role exists. */
export async function grantReaderRole(pool: Pool): Promise<boolean> {
  if (!(await roleExists(pool, READER_ROLE))) return false
  await grantReader(pool, READER_ROLE)
  return true
}

/** Postgres cuts longer names. */
const ROLE_BYTES_MAX = 63

/** Creates the role if it is missing, lets it read the public views, and the user of this pool act as it. */
export async function createReader(pool: Pool, role: string): Promise<{ created: boolean }> {
  if (Buffer.byteLength(role) > ROLE_BYTES_MAX) {
    throw new UsageProblem(`create role: its name is longer than ${ROLE_BYTES_MAX} bytes`, {
      hint: 'Choose a shorter one.',
    })
  }
  const created = !(await roleExists(pool, role))
  const name = escapeIdentifier(role)
  if (created) {
    await pool.query(`create role ${name}`).catch((cause: Error) => {
      throw new UsageProblem(`create role: ${cause.message}`, {
        hint: `Or let an administrator run: create role ${name} login password '…'. Then give this command again.`,
        cause,
      })
    })
    await pool.query(`grant ${name} to current_user`)
  }
  await grantReader(pool, role)
  return { created }
}

/**
 * The rows of a divided warehouse are read on their nodes by the role itself: there it must be able to log in and to read the
 * tables, and where a view is answered in steps it must be able to read them at the coordinator too. Tokens, secrets and tombstones
 * stay closed to it.
 */
async function grantOnNodes(pool: Pool, role: string): Promise<void> {
  const tables = (await listTablePlaces(pool)).filter(({ is }) => is !== 'whole')
  if (tables.length === 0) return
  const name = escapeIdentifier(role)
  const hint = `Or let an administrator run: alter role ${name} login. Then give this command again. See docs/citus.md.`
  await pool.query(`alter role ${name} login`).catch((cause: Error) => {
    throw new UsageProblem(`let ${role} log in on the nodes: ${cause.message}`, { hint, cause })
  })
  // The sums of `lateness` lie at the coordinator, and are joined there with rows of the nodes.
  const granted = [...tables.map(({ table }) => table), 'lateness'].map((table) => `vitalsync.${table}`)
  await pool.query(`grant usage on schema vitalsync to ${name}`)
  await pool.query(`grant select on ${granted.join(', ')} to ${name}`)
}

/**
 * Lets a role read the public views, those of later versions too. Safe to run after every migration, by several processes
 * at once.
 */
async function grantReader(pool: Pool, role: string): Promise<void> {
  const name = escapeIdentifier(role)
  await transaction(pool, async (tx) => {
    // Postgres fails one of two concurrent grants on a table, even when they are the same.
    await tx.query(`select pg_advisory_xact_lock(hashtextextended('vitalsync grants', 0))`)
    await tx.query(`grant usage on schema warehouse to ${name}`)
    await tx.query(`grant select on all tables in schema warehouse to ${name}`)
    await tx.query(`alter default privileges in schema warehouse grant select on tables to ${name}`)
  })
  await grantOnNodes(pool, role)
}

async function roleExists(pool: Pool, role: string): Promise<boolean> {
  const { rowCount } = await pool.query('select 1 from pg_roles where rolname = $1', [role])
  return rowCount !== 0
}

/** The roles that may read the public views, beside the owner and superusers. */
export async function listReaders(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ rolname: string }>(
    `select r.rolname from pg_roles r
     where not r.rolsuper and r.oid <> (select nspowner from pg_namespace where nspname = 'warehouse')
       and has_schema_privilege(r.oid, 'warehouse', 'usage') and has_table_privilege(r.oid, 'warehouse.days', 'select')
     order by 1`,
  )
  return rows.map(({ rolname }) => rolname)
}

/** Begins a transaction that changes nothing and reads as the reader role. */
export async function beginAsReader(connection: Connection): Promise<void> {
  await connection.query('begin read only')
  await connection.query(`set local role ${READER_ROLE}`).catch((cause: unknown) => {
    throw readerProblem(cause) ?? cause
  })
}

/** Why a statement cannot be run as the reader role. */
function readerProblem(cause: unknown): UsageProblem | undefined {
  const state = sqlState(cause)
  if (state !== '22023' && state !== '42501') return undefined
  return new UsageProblem(`act as ${READER_ROLE}: the role is missing, or this user may not act as it`, {
    hint: `Run: vitalsync grant-reader ${READER_ROLE}`,
    cause,
  })
}
