import type { Command } from 'commander'
import {
  type CliProcess,
  examples,
  jsonOption,
  type SelectionOptions,
  selectionOf,
  withSelectionOptions,
} from './options.ts'

export function declareSync(program: Command, cli: CliProcess): void {
  withSelectionOptions(program.command('sync'))
    .description(
      'start a nightly run now and follow it to its end; works on the jobs itself where no worker is running',
    )
    .addOption(jsonOption('print the finished run as JSON'))
    .addHelpText(
      'after',
      examples('vitalsync sync', 'vitalsync sync --profile ada --stream scores --stream biomarkers'),
    )
    .action(async ({ json, ...options }: SelectionOptions & { json: boolean }) => {
      const { runSync } = await import('../commands/sync.ts')
      cli.exit(await runSync(cli.context({ json }), selectionOf(options)))
    })
}
