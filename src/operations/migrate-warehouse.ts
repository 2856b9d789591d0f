import { pulledStreams } from '../../config/streams.ts'
import { connectionProblem } from '../base/connections/connection-problem.ts'
import { isOwnServer } from '../base/connections/own-server.ts'
import { applyMigrations } from '../base/engines/apply-migrations.ts'
import {
  breakingOf,
  compareMigrations,
  findTooNew,
  MIGRATE_HINT,
  requireReleased,
} from '../base/engines/compare-migrations.ts'
import { UsageProblem } from '../base/errors.ts'
import { requireServerVersion } from '../base/postgres/direct-connection.ts'
import { readQuestionsRole } from '../base/postgres/reading-role.ts'
import { DAY } from '../base/time/units.ts'
import { addDeclaredColumns } from '../pipeline/warehouse/added-columns.ts'
import { type Distribution, distributeTables, placeNewTables } from '../pipeline/warehouse/divided/distribute-tables.ts'
import { readShardCount, requireDivision } from '../pipeline/warehouse/divided/distributed-tables.ts'
import { toCallersError } from '../pipeline/warehouse/divided/division.ts'
import { storeSettleFallbacks } from '../pipeline/warehouse/ledger/settle-times.ts'
import { PartialOutage } from '../pipeline/warehouse/postgres/sql-errors.ts'
import { openWarehousePool, type Pool } from '../pipeline/warehouse/postgres/warehouse-pool.ts'
import { canAsk, QUESTIONS_ROLE_HINT } from '../pipeline/warehouse/reports/read-query.ts'
import { grantReaderRole, prepareQuestions } from '../pipeline/warehouse/reports/reader-role.ts'

export const migrationsFolder = new URL('../pipeline/warehouse/migrations/', import.meta.url)
const schema = { folder: migrationsFolder, schema: 'vitalsync' } as const

const NODE_AWAY =
  'A node of the warehouse does not answer. No migration is missing; the rest, which needs all nodes, is left to the next `vitalsync migrate`.'

/**
 * Applies missing migrations, adds the columns that streams declare, makes the role that answers questions, and lets the reading roles
 * read what is new. A warehouse that is or will be divided gets no columns: `raw` has their values. Safe with any number of processes at once. Where no
 * migration is missing, processes may start without a node of a divided warehouse.
 */
export async function migrateWarehouse(
  databaseUrl: string,
  say: (text: string) => void,
  questionsKey?: Buffer,
  isToBeDivided = false,
): Promise<{ applied: string[]; readerGranted: boolean }> {
  const { applied } = await applyMigrations({ databaseUrl, ...schema, say })
  const pool = openWarehousePool({ databaseUrl, connectionsMax: 1, name: 'vitalsync migrate' })
  try {
    await placeNewTables(pool, say)
    const isDivided = (await readShardCount(pool)) !== undefined
    const mayLackNode = applied.length === 0 && isDivided
    try {
      await storeSettleFallbacks(pool, pulledStreams)
      if (!isDivided && !isToBeDivided) applied.push(...(await addDeclaredColumns(pool, pulledStreams)))
      if (!isOwnServer(databaseUrl)) await makeQuestionsRole({ pool, databaseUrl, say }, questionsKey)
      return { applied, readerGranted: await grantReaderRole(pool) }
    } catch (error) {
      if (!mayLackNode || !(toCallersError(error) instanceof PartialOutage)) throw error
      say(NODE_AWAY)
      return { applied, readerGranted: false }
    }
  } finally {
    await pool.end()
  }
}

/** The migrations that a warehouse lacks, and those of them that no former version can work beside. Changes nothing. */
export async function planMigrations(databaseUrl: string) {
  const pool = openWarehousePool({ databaseUrl, connectionsMax: 1, name: 'vitalsync migrate' })
  try {
    const compared = await compareMigrations(pool, schema).catch(async (cause: unknown) => {
      throw await connectionProblem({ kind: 'Postgres', url: databaseUrl, variable: 'DATABASE_URL' }, cause)
    })
    requireReleased('check migrations', compared)
    const tooNew = findTooNew(compared.unknown)
    if (tooNew) throw new UsageProblem(`check migrations: ${tooNew.text}`, { hint: tooNew.hint })
    const missing = [...compared.missing]
    // An empty database has no former version at work.
    return { missing, breaking: compared.applied.length === 0 ? [] : breakingOf(missing) }
  } finally {
    await pool.end()
  }
}

/** Questions are never answered as the owner: without the role they fail, and say so. The embedded Postgres makes it at its start. */
async function makeQuestionsRole(
  { pool, databaseUrl, say }: { pool: Pool; databaseUrl: string; say: (text: string) => void },
  key: Buffer | undefined,
): Promise<void> {
  if (!key) {
    if (!(await readQuestionsRole(pool)).exists)
      say(`No role answers questions (\`vitalsync sql\`, the dashboard). ${QUESTIONS_ROLE_HINT}`)
    return
  }
  const statements = await prepareQuestions(pool, key)
  if (statements.length === 0 || (await canAsk({ pool, databaseUrl, keys: [key] }))) return
  say(`This user may not make the role that answers questions (\`vitalsync sql\`, the dashboard). Let an administrator run:
${statements.map((statement) => `  ${statement};`).join('\n')}
Then migrate again: it lets the role read the views.`)
}

/**
 * Divides the tables of profiles among the nodes of Citus. The address is the coordinator's, and the warehouse is migrated.
 */
export async function distributeWarehouse(
  { databaseUrl, shards }: { readonly databaseUrl: string; readonly shards: number },
  say: (text: string) => void,
): Promise<Distribution> {
  const pool = openWarehousePool({
    databaseUrl,
    connectionsMax: 2,
    name: 'vitalsync distribute',
    statementTimeoutMs: DAY, // the largest table is copied in one statement
  })
  try {
    return await distributeTables(pool, { shards, say })
  } finally {
    await pool.end()
  }
}

/** A command that only reads may try it on tables of any newer version. */
export type WarehouseUse = 'read' | 'work'

/**
 * Refuses a warehouse that lacks a migration of this version, or is divided otherwise than the setting says; for work also one on whose
 * tables only a newer version can work. A Postgres that vitalsync starts itself gets the missing migrations here: `vitalsync migrate` is
 * for given ones. Returns the migrations of a newer version.
 */
export async function requireMigrated(
  pool: Pool,
  databaseUrl: string,
  use: WarehouseUse = 'work',
): Promise<readonly string[]> {
  const explain = async (cause: unknown): Promise<never> => {
    throw await connectionProblem({ kind: 'Postgres', url: databaseUrl, variable: 'DATABASE_URL' }, cause)
  }
  const compared = await compareMigrations(pool, schema).catch(explain)
  const tooNew = findTooNew(compared.unknown)
  if (tooNew && use === 'work') throw new UsageProblem(`open warehouse: ${tooNew.text}`, { hint: tooNew.hint })
  if (compared.missing.length === 0) {
    await requireDivision(pool)
    return compared.unknown
  }
  if (isOwnServer(databaseUrl)) {
    await migrateWarehouse(databaseUrl, () => undefined)
    return compared.unknown
  }
  requireReleased('open warehouse', compared)
  await requireServerVersion(pool).catch(explain)
  throw new UsageProblem('open warehouse: its tables are missing or older than this version', {
    hint: MIGRATE_HINT,
  })
}
