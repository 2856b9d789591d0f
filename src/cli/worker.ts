import type { Command } from 'commander'
import { type CliProcess, examples } from './options.ts'

export function declareWorker(program: Command, cli: CliProcess): void {
  program
    .command('worker')
    .description('work on jobs until SIGTERM')
    .option('--drain', 'enqueue due profiles, and exit when no profile is due and no job waits', false)
    .addHelpText('after', examples('vitalsync worker', 'vitalsync worker --drain'))
    .action(async (options: { drain: boolean }) => {
      const { runWorker } = await import('../commands/worker.ts')
      cli.exit(await runWorker(cli.context({ json: false }), options))
    })
}
