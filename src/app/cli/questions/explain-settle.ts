import type { Command } from 'commander'
import { type CliProcess, examples, jsonOption } from '../options.ts'

export function declareExplainSettle(explain: Command, cli: CliProcess): void {
  explain
    .command('settle')
    .description('when the days of each stream settle, and what was measured that says so')
    .addOption(jsonOption('print one object a line'))
    .addHelpText('after', examples('vitalsync explain settle', 'vitalsync explain settle --json | jq .basis'))
    .action(async ({ json }: { json: boolean }) => {
      const { runExplainSettle } = await import('../../commands/questions/explain-settle.ts')
      cli.exit(await runExplainSettle(cli.context({ json })))
    })
}
