import {
  type CliProcess,
  choiceOption,
  jsonOption,
  parseListNumber,
  requireIdsOrFilter,
  streamNames,
  type Verb,
} from './options.ts'

export function declareDrift(program: Verb, cli: CliProcess): void {
  const drift = program
    .command('drift')
    .description('what upstream says that is not known: fields, types, words and units')
    .examples('vitalsync drift list', 'vitalsync drift accept 3 4')
  const streamOption = () => choiceOption('--stream <name>', 'only of this stream', streamNames)
  drift
    .command('list')
    .description('what was not accepted: units first, then the newest')
    .option('--all', 'also what was accepted, and by whom', false)
    .addOption(streamOption())
    .addOption(jsonOption('print one JSON object a line'))
    .examples('vitalsync drift list --stream scores')
    .action(async ({ json, all, stream }: { json: boolean; all: boolean; stream?: string }) => {
      const { runDriftList } = await import('../commands/drift.ts')
      await runDriftList(cli.context({ json }), { all, stream })
    })
  drift
    .command('accept')
    .description('call it known: it is reported no more, and days in another unit settle with their next reading')
    .argument('[id...]', 'their numbers', (text: string, before: string[] | undefined) => [
      ...(before ?? []),
      parseListNumber(text),
    ])
    .option('--all', 'everything that was reported')
    .addOption(streamOption())
    .option('--by <name>', 'who accepts it, for the audit; by default the user of this machine')
    .addOption(jsonOption('print how many, as JSON'))
    .examples('vitalsync drift accept 3 4', 'vitalsync drift accept --stream biomarkers --by ada')
    .action(async (ids: string[] = [], { json, all, stream, by }: AcceptOptions) => {
      requireIdsOrFilter(ids, stream ?? all)
      const { runDriftAccept } = await import('../commands/drift.ts')
      await runDriftAccept(cli.context({ json }), { ids: ids.length > 0 ? ids : undefined, stream, by })
    })
}

type AcceptOptions = { json: boolean; all?: boolean; stream?: string; by?: string }
