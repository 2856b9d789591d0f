import { type CommandContext, exitCodes } from '../assembly/command-context.ts'
import { migrateWarehouse } from '../assembly/migrate-warehouse.ts'
import { UsageProblem } from '../errors.ts'

/** Brings the given warehouse up to this version. */
export async function runMigrate({ config, terminal }: CommandContext): Promise<number> {
  const { databaseUrl } = config
  if (!databaseUrl) throw new UsageProblem('migrate: DATABASE_URL is not set', { hint: 'Set it to the warehouse.' })
  const result = await migrateWarehouse({ databaseUrl, bucketCount: config.warehouseShards }, terminal.say)
  if (terminal.json) terminal.printJson('migrate', result)
  else terminal.print(result.applied.length === 0 ? 'Nothing to do.' : `Applied:\n  ${result.applied.join('\n  ')}`)
  return exitCodes.done
}
