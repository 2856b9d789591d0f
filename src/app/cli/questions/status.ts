import type { Command } from 'commander'
import { type CliProcess, examples, jsonOption } from '../options.ts'

export function declareStatus(program: Command, cli: CliProcess): void {
  program
    .command('status')
    .description('lag, freshness, last runs, backlog, failures by reason, budget')
    .addOption(jsonOption('print it as JSON'))
    .addHelpText('after', examples('vitalsync status', 'vitalsync status --json | jq .failures'))
    .action(async ({ json }: { json: boolean }) => {
      const { runStatus } = await import('../../commands/questions/status.ts')
      cli.exit(await runStatus(cli.context({ json })))
    })
}
