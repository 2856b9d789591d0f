import type { Command } from 'commander'
import { type CliProcess, examples } from './options.ts'

export function declareGrantReader(program: Command, cli: CliProcess): void {
  program
    .command('grant-reader')
    .description('let a database role read the public views and nothing else; creates the role where it is missing')
    .argument('<role>', 'role of an analyst or a dashboard')
    .addHelpText('after', examples('vitalsync grant-reader vitalsync_reader'))
    .action(async (role: string) => {
      const { runGrantReader } = await import('../commands/grant-reader.ts')
      cli.exit(await runGrantReader(cli.context({ json: false }), { role }))
    })
}
