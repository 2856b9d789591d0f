import type { Command } from 'commander'
import { type CliProcess, examples, jsonOption, parseListNumber, parsePositive } from './options.ts'

export function declareRuns(program: Command, cli: CliProcess): void {
  const runs = program
    .command('runs')
    .description('the last runs: cron slots and commands')
    .option('--limit <n>', 'how many', parsePositive, 20)
    .addOption(jsonOption('print one JSON object a line'))
    .addHelpText('after', examples('vitalsync runs --limit 5'))
    .action(async ({ json, ...options }: { limit: number; json: boolean }) => {
      const { runRuns } = await import('../commands/runs.ts')
      cli.exit(await runRuns(cli.context({ json }), options))
    })
  runs
    .command('stop')
    .argument('<run>', 'its number', parseListNumber)
    .description('stop a run: jobs that have begun end, those that wait are given up, and what was read stays')
    .addHelpText('after', examples('vitalsync runs stop 42'))
    .action(async (runId: string) => {
      const { stopRun } = await import('../commands/runs.ts')
      cli.exit(await stopRun(cli.context({ json: false }), { runId }))
    })
}
