import { UsageProblem } from '../../base/errors.ts'
import { distributeWarehouse, migrateWarehouse, planMigrations } from '../../operations/migrate-warehouse.ts'
import type { Distribution } from '../../pipeline/warehouse/divided/distribute-tables.ts'
import { createReader } from '../../pipeline/warehouse/reports/reader-role.ts'
import { type CommandContext, exitCodes } from '../terminal/command-context.ts'
import { withWarehouse } from '../with-pipeline.ts'

/** The shards of a warehouse that is divided while WAREHOUSE_SHARDS does not ask for any. */
const SHARDS = 32

type MigrateOptions = { readonly distribute: boolean; readonly shards: number | undefined }

/** Brings the given warehouse up to this version; with `distribute` it divides its tables among the nodes of Citus then. */
export async function runMigrate(
  { config, terminal }: CommandContext,
  { distribute, shards = config.warehouseShards > 1 ? config.warehouseShards : SHARDS }: MigrateOptions,
): Promise<void> {
  const { databaseUrl } = config
  if (!databaseUrl) throw missingUrl()
  const result = await migrateWarehouse(databaseUrl, terminal.say, config.tokenKeys?.[0], distribute)
  const distribution = distribute ? await distributeWarehouse({ databaseUrl, shards }, terminal.say) : undefined
  if (terminal.json) terminal.printJson('migrate', { ...result, ...(distribution ? { distribution } : {}) })
  else {
    if (result.applied.length > 0) terminal.print(`Applied:\n  ${result.applied.join('\n  ')}`)
    else if (!distribution?.moved.length) terminal.print('Nothing to do.')
    if (distribution) terminal.print(distributionText(distribution, config.warehouseShards))
  }
}

const missingUrl = () => new UsageProblem('migrate: DATABASE_URL is not set', { hint: 'Set it to the warehouse.' })

/** Says what `migrate` would apply, and whether former versions may go on working meanwhile. Ends with 1 where they may not. */
export async function runMigrateCheck({ config, terminal }: CommandContext): Promise<number> {
  if (!config.databaseUrl) throw missingUrl()
  const check = await planMigrations(config.databaseUrl)
  const { missing, breaking } = check
  if (terminal.json) terminal.printJson('migrate', { applied: [], readerGranted: false, check })
  else if (missing.length === 0) terminal.print('No migration is missing.')
  else {
    terminal.print(`Missing:\n  ${missing.join('\n  ')}`)
    terminal.print(
      breaking.length === 0
        ? 'The former version works beside them: migrate while it runs.'
        : `The former version cannot work beside ${breaking.join(', ')}: back up, and stop it before you migrate.`,
    )
  }
  return breaking.length === 0 ? exitCodes.done : exitCodes.failures
}

function distributionText({ shards, moved }: Distribution, warehouseShards: number): string {
  const done =
    moved.length === 0
      ? `The tables are divided into ${shards} shards.`
      : `Divided into ${shards} shards: ${moved.join(', ')}.`
  return warehouseShards === shards ? done : `${done}\nSet WAREHOUSE_SHARDS=${shards} for every process now.`
}

/** Lets a database role read the public views, and nothing else. */
export async function runGrantReader(context: CommandContext, { role }: { role: string }): Promise<void> {
  const { created } = await withWarehouse(context, (pool) => createReader(pool, role))
  context.terminal.say(
    created
      ? `${role} was created and may read the views of schema warehouse. Let it log in: alter role … login password '…'`
      : `${role} may read the views of schema warehouse.`,
  )
}
