import type { Command } from 'commander'
import { type CliProcess, examples, jsonOption, parseLocalDay, withStreamOption } from '../options.ts'

type WhyCliOptions = { profile: string; date: string; stream: string[]; json: boolean }

export function declareWhy(program: Command, cli: CliProcess): void {
  const why = program
    .command('why')
    .description('whether a day is there, stream by stream, or why it is not, with the evidence and what to do')
    .requiredOption('--profile <externalId>', 'whose day')
    .requiredOption('--date <day>', 'the local day, such as 2026-07-11', parseLocalDay)
  withStreamOption(why)
    .addOption(jsonOption('print one JSON object a stream'))
    .addHelpText('after', examples('vitalsync why --profile ada --date 2026-07-11 --stream scores'))
    .action(async ({ json, profile, date, stream }: WhyCliOptions) => {
      const { runWhy } = await import('../../commands/questions/why.ts')
      cli.exit(await runWhy(cli.context({ json }), { externalId: profile, date, streams: stream }))
    })
}
