import {
  type CliProcess,
  causeOption,
  choiceOption,
  jsonOption,
  parseListNumber,
  parsePositive,
  pushedStreamNames,
  requireIdsOrFilter,
  streamNames,
  type Verb,
} from './options.ts'

export function declareQuarantine(program: Verb, cli: CliProcess): void {
  const quarantine = program
    .command('quarantine')
    .description('records and items that did not fit their schema, with the reason')
    .examples('vitalsync quarantine list', 'vitalsync quarantine replay --all')
  declareList(quarantine, cli)
  declareShow(quarantine, cli)
  declareReplay(quarantine, cli)
  declareDiscard(quarantine, cli)
}

type FilterOptions = { profile?: string; stream?: string; way?: 'push' | 'pull'; cause?: string; json: boolean }

const withFilter = (command: Verb): Verb =>
  command
    .option('--profile <externalId>', 'only of this profile')
    .addOption(
      choiceOption('--stream <name>', 'only of this stream', [...new Set([...pushedStreamNames, ...streamNames])]),
    )
    .addOption(choiceOption('--way <way>', 'only items to push, or only pulled records', ['push', 'pull']))
    .addOption(causeOption())

const filterOf = ({ profile, stream, way, cause }: Omit<FilterOptions, 'json'>) => ({
  profile,
  stream,
  direction: way,
  cause,
})

function declareList(quarantine: Verb, cli: CliProcess): void {
  withFilter(quarantine.command('list'))
    .description('newest first, with their reasons')
    .option('--limit <n>', 'how many', parsePositive, 100)
    .addOption(jsonOption('print one JSON object a line'))
    .examples('vitalsync quarantine list --way push')
    .action(async ({ json, limit, ...options }: FilterOptions & { limit: number }) => {
      const { listQuarantine } = await import('../commands/quarantine.ts')
      await listQuarantine(cli.context({ json }), { ...filterOf(options), limit })
    })
}

function declareShow(quarantine: Verb, cli: CliProcess): void {
  quarantine
    .command('show')
    .argument('<id>', 'its number', parseListNumber)
    .description('one record, with its content')
    .addOption(jsonOption('print it as JSON'))
    .examples('vitalsync quarantine show 17')
    .action(async (id: string, { json }: { json: boolean }) => {
      const { showQuarantined } = await import('../commands/quarantine.ts')
      await showQuarantined(cli.context({ json }), { id })
    })
}

type ChoiceOptions = FilterOptions & { all?: boolean }

function declareReplay(quarantine: Verb, cli: CliProcess): void {
  withChoice(quarantine, 'replay')
    .description('push items again, or read records again; what still does not fit is quarantined again')
    .action(async (ids: string[] | undefined, { json, ...options }: ChoiceOptions) => {
      const filter = choiceOf(ids, options)
      const { replayQuarantine } = await import('../commands/quarantine.ts')
      await replayQuarantine(cli.context({ json }), filter)
    })
}

function declareDiscard(quarantine: Verb, cli: CliProcess): void {
  withChoice(quarantine, 'discard')
    .description('forget items and records; items are not pushed, and a record that upstream sends again comes back')
    .action(async (ids: string[] | undefined, { json, ...options }: ChoiceOptions) => {
      const filter = choiceOf(ids, options)
      const { discardQuarantined } = await import('../commands/quarantine.ts')
      await discardQuarantined(cli.context({ json }), filter)
    })
}

/** Ids, or a filter, or all. */
const withChoice = (quarantine: Verb, name: string): Verb =>
  withFilter(quarantine.command(name))
    .argument('[id...]', 'their numbers', (text: string, before: string[] | undefined) => [
      ...(before ?? []),
      parseListNumber(text),
    ])
    .option('--all', 'everything in quarantine')
    .addOption(jsonOption('print how many, as JSON'))
    .examples(`vitalsync quarantine ${name} 17 18`, `vitalsync quarantine ${name} --stream data-logs`)

function choiceOf(ids: readonly string[] = [], { all, ...options }: Omit<ChoiceOptions, 'json'>) {
  requireIdsOrFilter(ids, options.profile ?? options.stream ?? options.way ?? options.cause ?? all)
  return { ...filterOf(options), ids: ids.length > 0 ? ids : undefined }
}
