import type { Command } from 'commander'
import { type CliProcess, examples, jsonOption, parsePositive } from './options.ts'

export function declareRuns(program: Command, cli: CliProcess): void {
  program
    .command('runs')
    .description('the last runs: cron slots and commands')
    .option('--limit <n>', 'how many', parsePositive, 20)
    .addOption(jsonOption('print one JSON object a line'))
    .addHelpText('after', examples('vitalsync runs --limit 5'))
    .action(async ({ json, ...options }: { limit: number; json: boolean }) => {
      const { runRuns } = await import('../commands/runs.ts')
      cli.exit(await runRuns(cli.context({ json }), options))
    })
}
