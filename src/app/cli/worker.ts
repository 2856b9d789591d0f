import { type Command, Option } from 'commander'
import { type CliProcess, examples, parseParts } from './options.ts'

export function declareWorker(program: Command, cli: CliProcess): void {
  program
    .command('worker')
    .description('work on jobs until SIGTERM')
    .option('--drain', 'enqueue due profiles, and exit when no profile is due and no job waits', false)
    .addOption(new Option('--parts <parts>', 'parts of the queue to work on; absent: all').argParser(parseParts))
    .addHelpText('after', examples('vitalsync worker', 'vitalsync worker --drain', 'vitalsync worker --parts 0-3'))
    .action(async (options: { drain: boolean; parts?: number[] }) => {
      const { runWorker } = await import('../commands/worker.ts')
      cli.exit(await runWorker(cli.context({ json: false }), options))
    })
}
