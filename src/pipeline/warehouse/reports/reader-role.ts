import { escapeIdentifier } from 'pg'
import { UsageProblem } from '../../../base/errors.ts'
import { sqlState } from '../../../base/postgres/postgres-errors.ts'
import {
  questionsPassword,
  readingRoleStatements,
  readQuestionsRole,
  scramVerifier,
  tempFileLimitStatement,
} from '../../../base/postgres/reading-role.ts'
import { listTablePlaces } from '../divided/distributed-tables.ts'
import { type Pool, type Tx, transaction } from '../postgres/warehouse-pool.ts'

/** The role for analysts: reads the public views and nothing else. */
export const READER_ROLE = 'vitalsync_reader'

/** Grants the roles for analysts and for questions their rights, where they exist. */
export async function grantReaderRole(pool: Pool): Promise<boolean> {
  const questions = await readQuestionsRole(pool)
  if (questions.exists) await grantReader(pool, questions.role)
  await closeAudit(pool)
  if (!(await roleExists(pool, READER_ROLE))) return false
  await grantReader(pool, READER_ROLE)
  return true
}

/** Postgres cuts longer names. */
const ROLE_BYTES_MAX = 63

/** Creates the role if it is missing, and lets it read the public views. A role that exists keeps its own limits. */
export async function createReader(pool: Pool, role: string): Promise<{ created: boolean }> {
  if (Buffer.byteLength(role) > ROLE_BYTES_MAX) {
    throw new UsageProblem(`create role: its name is longer than ${ROLE_BYTES_MAX} bytes`, {
      hint: 'Choose a shorter one.',
    })
  }
  const created = !(await roleExists(pool, role))
  if (created) {
    const statements = readingRoleStatements({ name: role, exists: false })
    await carryOut(pool, role, statements).catch((cause: Error) => {
      throw new UsageProblem(`create role: ${cause.message}`, {
        hint: `Or let an administrator run: create role ${escapeIdentifier(role)} login password '…'. Then give this command again.`,
        cause,
      })
    })
  }
  await grantReader(pool, role)
  return { created }
}

/**
 * Makes the role that answers questions, or brings it up to date: a login of its own that may read the public views. Its password
 * follows from `key`. Returns the statements for an administrator where this user may not make the role.
 */
export async function prepareQuestions(pool: Pool, key: Buffer): Promise<readonly string[]> {
  const { role: name, exists } = await readQuestionsRole(pool)
  const password = scramVerifier(questionsPassword(key, name))
  const statements = readingRoleStatements({ name, exists, password })
  try {
    await carryOut(pool, name, statements)
    return []
  } catch (error) {
    if (sqlState(error) !== INSUFFICIENT_PRIVILEGE) throw error
    return [...statements, tempFileLimitStatement(name)]
  }
}

const INSUFFICIENT_PRIVILEGE = '42501'

/** The statements in one transaction, and the limit that only a superuser may set where this user is one. */
async function carryOut(pool: Pool, role: string, statements: readonly string[]): Promise<void> {
  await grantsInTurn(pool, async (tx) => {
    for (const statement of statements) await tx.query(statement)
    await tx.query('savepoint before_limit')
    await tx.query(tempFileLimitStatement(role)).catch(async (error: unknown) => {
      if (sqlState(error) !== INSUFFICIENT_PRIVILEGE) throw error
      await tx.query('rollback to savepoint before_limit')
    })
  })
}

/** Postgres fails one of two concurrent grants on a table or changes of a role, even when they are the same. */
const grantsInTurn = (pool: Pool, work: (tx: Tx) => Promise<void>) =>
  transaction(pool, async (tx) => {
    // No advisory lock: everybody who may connect can hold one.
    await tx.query('lock table vitalsync.migrations in share row exclusive mode')
    await work(tx)
  })

/**
 * The rows of a divided warehouse are read on their nodes by the role itself: there it must be able to log in and to read the
 * tables, and where a view is answered in steps it must be able to read them at the coordinator too. Tokens, secrets and tombstones
 * stay closed to it.
 */
async function grantOnNodes(pool: Pool, role: string): Promise<void> {
  const tables = (await listTablePlaces(pool)).filter(({ is }) => is !== 'whole')
  if (tables.length === 0) return
  const name = escapeIdentifier(role)
  const hint = `Or let an administrator run: alter role ${name} login. Then give this command again. See docs/how-to/citus.md.`
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
  await grantsInTurn(pool, async (tx) => {
    await tx.query(`grant usage on schema warehouse to ${name}`)
    await tx.query(`grant select on all tables in schema warehouse to ${name}`)
    // The owner reads the audit, and on the dashboard people who may act.
    await tx.query(`revoke select on warehouse.audit from ${name}`)
    await tx.query(`alter default privileges in schema warehouse grant select on tables to ${name}`)
    const { rows } = await tx.query<{ database: string; allowed: boolean }>(
      `select current_database() as database, has_database_privilege($1, current_database(), 'connect') as allowed`,
      [role],
    )
    for (const { database, allowed } of rows)
      if (!allowed) await tx.query(`grant connect on database ${escapeIdentifier(database)} to ${name}`)
  })
  await grantOnNodes(pool, role)
}

/** A migration that drops the audit and creates it gives it to readers, as each view of a later version. The owner alone reads it. */
async function closeAudit(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ grantee: string }>(
    `select distinct quote_ident(r.rolname) as grantee
     from pg_default_acl d, aclexplode(d.defaclacl) a join pg_roles r on r.oid = a.grantee
     where d.defaclnamespace = 'warehouse'::regnamespace and d.defaclobjtype = 'r' and a.grantee <> d.defaclrole
       and has_table_privilege(a.grantee, 'warehouse.audit', 'select')`,
  )
  if (rows.length === 0) return
  const readers = rows.map(({ grantee }) => grantee).join(', ')
  await grantsInTurn(pool, async (tx) => void (await tx.query(`revoke select on warehouse.audit from ${readers}`)))
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
