import type { Command } from 'commander'
import { sandboxDefaults } from '../sandbox-defaults.ts'
import { type CliProcess, examples, jsonOption, parseWhole } from './options.ts'

type UpCliOptions = { once: boolean; profiles: number; json: boolean }

export function declareUp(program: Command, cli: CliProcess): void {
  program
    .command('up')
    .description('start every engine that has no given address, sync at once, then work by schedule')
    .option('--once', 'exit after the first sync', false)
    .option('--profiles <n>', 'how many sample profiles the local sandbox has', parseWhole, sandboxDefaults.profiles)
    .addOption(jsonOption('print what was loaded as JSON'))
    .addHelpText('after', examples('vitalsync up', 'vitalsync up --once --profiles 100'))
    .action(async ({ json, ...options }: UpCliOptions) => {
      const { runUp } = await import('../commands/up.ts')
      cli.exit(await runUp(cli.context({ json }), options))
    })
}
