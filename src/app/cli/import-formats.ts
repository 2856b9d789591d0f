import type { Command } from 'commander'
import { type CliProcess, examples, jsonOption } from './options.ts'

export function declareImportFormats(parent: Command, cli: CliProcess): void {
  parent
    .command('formats')
    .description('the health exports that can be imported')
    .addOption(jsonOption('print one object a line'))
    .addHelpText('after', examples('vitalsync import formats'))
    .action(async ({ json }: { json: boolean }) => {
      const { runImportFormats } = await import('../commands/import-formats.ts')
      cli.exit(runImportFormats(cli.context({ json })))
    })
}
