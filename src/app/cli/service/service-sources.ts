import type { Command } from 'commander'
import { type CliProcess, examples, jsonOption } from '../options.ts'

type SourcesCliOptions = { account: string; reset: boolean; json: boolean }

export function declareServiceSources(service: Command, cli: CliProcess): void {
  service
    .command('sources')
    .description(
      'set which source is preferred where two sources have logs of the same time; without sources, show the order',
    )
    .argument('[source...]', 'source names or kinds of device, best first; other sources come after them')
    .option('--account <name>', 'account of the profiles', 'default')
    .option('--reset', 'go back to the order of the model: watch, band, ring, chest strap, phone', false)
    .addOption(jsonOption('print the order as JSON'))
    .addHelpText(
      'after',
      examples(
        'vitalsync service sources --account acme ring watch',
        'vitalsync service sources --account acme',
        'vitalsync service sources --account acme --reset',
      ),
    )
    .action(async (given: string[], { json, account, reset }: SourcesCliOptions) => {
      const sources = reset ? [] : given.length > 0 ? given : undefined
      const { runServiceSources } = await import('../../commands/service/service-sources.ts')
      cli.exit(await runServiceSources(cli.context({ json }), { account, sources }))
    })
}
