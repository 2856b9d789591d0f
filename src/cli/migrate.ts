import type { Command } from 'commander'
import { type CliProcess, examples, jsonOption } from './options.ts'

export function declareMigrate(program: Command, cli: CliProcess): void {
  program
    .command('migrate')
    .description('bring the warehouse of DATABASE_URL up to this version')
    .addOption(jsonOption('print what was applied as JSON'))
    .addHelpText('after', examples('DATABASE_URL=postgres://… vitalsync migrate'))
    .action(async ({ json }: { json: boolean }) => {
      const { runMigrate } = await import('../commands/migrate.ts')
      cli.exit(await runMigrate(cli.context({ json })))
    })
}
