import type { Command } from 'commander'
import { type CliProcess, examples, jsonOption } from './options.ts'

export function declareProfilesErase(profiles: Command, cli: CliProcess): void {
  profiles
    .command('erase <externalId>')
    .description('erase a profile upstream and here, for good, and prove it')
    .option('--yes', 'do not ask', false)
    .addOption(jsonOption('print the proof as JSON'))
    .addHelpText('after', examples('vitalsync profiles erase ada --yes'))
    .action(async (externalId: string, { json, yes }: { yes: boolean; json: boolean }) => {
      const { runProfilesErase } = await import('../commands/profiles-erase.ts')
      cli.exit(await runProfilesErase(cli.context({ json }), { externalId, yes }))
    })
}
