import type { Command } from 'commander'
import { scoreTypes } from '../../../base/contract/score.ts'
import { type CliProcess, choiceOption, examples, jsonOption, parseLocalDay } from '../options.ts'
import { declareExplainSettle } from './explain-settle.ts'

type ExplainCliOptions = { profile?: string; date?: string; score: string; json: boolean }

export function declareExplain(program: Command, cli: CliProcess): void {
  const explain = program
    .command('explain')
    .description(
      'where a score comes from: factors, weights, the logs behind it (only this project’s Profile Service can explain)',
    )
    .option('--profile <externalId>', 'profile of the score; required')
    .option('--date <day>', 'the local day, such as 2026-07-11; required', parseLocalDay)
    .addOption(choiceOption('--score <type>', 'which score', scoreTypes).default('sleep'))
    .addOption(jsonOption('print it as JSON'))
    .addHelpText('after', examples('vitalsync explain --profile ada --date 2026-07-11 --score activity'))
    .action(async ({ json, profile, date, score }: ExplainCliOptions) => {
      // Not required options of commander's: those would be required of `explain settle` as well.
      if (profile === undefined) return explain.error("error: required option '--profile <externalId>' not specified")
      if (date === undefined) return explain.error("error: required option '--date <day>' not specified")
      const { runExplain } = await import('../../commands/questions/explain.ts')
      cli.exit(await runExplain(cli.context({ json }), { externalId: profile, date, score }))
    })
  declareExplainSettle(explain, cli)
}
