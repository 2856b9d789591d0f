import { type Command, InvalidArgumentError } from 'commander'
import { UsageProblem } from '../../base/errors.ts'
import { type CliProcess, examples, jsonOption, parseWhole } from './options.ts'

const SHARDS_MAX = 1024

function parseShards(text: string): number {
  const shards = parseWhole(text)
  if (shards < 2 || shards > SHARDS_MAX)
    throw new InvalidArgumentError(`It must be a whole number from 2 to ${SHARDS_MAX}.`)
  return shards
}

export function declareMigrate(program: Command, cli: CliProcess): void {
  program
    .command('migrate')
    .description('bring the warehouse of DATABASE_URL up to this version, or divide it among the nodes of Citus')
    .option(
      '--distribute',
      'divide the tables of profiles among the nodes of Citus, after migrating (docs/citus.md)',
      false,
    )
    .option(
      '--shards <n>',
      'with --distribute: into so many shards; WAREHOUSE_SHARDS where it is set, else 32',
      parseShards,
    )
    .addOption(jsonOption('print what was applied as JSON'))
    .addHelpText(
      'after',
      examples(
        'DATABASE_URL=postgres://… vitalsync migrate',
        'DATABASE_URL=postgres://coordinator… vitalsync migrate --distribute --shards 64',
      ),
    )
    .action(async ({ json, distribute, shards }: { json: boolean; distribute: boolean; shards?: number }) => {
      if (shards !== undefined && !distribute)
        throw new UsageProblem('migrate: --shards is given without --distribute', { hint: 'Give both, or neither.' })
      const { runMigrate } = await import('../commands/migrate.ts')
      cli.exit(await runMigrate(cli.context({ json }), { distribute, shards }))
    })
}
