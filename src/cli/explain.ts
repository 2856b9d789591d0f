import type { Command } from 'commander'
import { scoreTypes } from '../contract/score.ts'
import { type CliProcess, choiceOption, examples, jsonOption, parseLocalDay } from './options.ts'

type ExplainCliOptions = { profile: string; date: string; score: string; json: boolean }

export function declareExplain(program: Command, cli: CliProcess): void {
  program
    .command('explain')
    .description(
      'where a score comes from: factors, weights, the logs behind it (only this project’s Profile Service can explain)',
    )
    .requiredOption('--profile <externalId>', 'profile of the score')
    .requiredOption('--date <day>', 'the local day, such as 2026-07-11', parseLocalDay)
    .addOption(choiceOption('--score <type>', 'which score', scoreTypes).default('sleep'))
    .addOption(jsonOption('print it as JSON'))
    .addHelpText('after', examples('vitalsync explain --profile ada --date 2026-07-11 --score activity'))
    .action(async ({ json, profile, ...options }: ExplainCliOptions) => {
      const { runExplain } = await import('../commands/explain.ts')
      cli.exit(await runExplain(cli.context({ json }), { ...options, externalId: profile }))
    })
}
