import { Argument } from 'commander'
import type { AddedType } from '../../pipeline/transfer/stream.ts'
import { type CliProcess, choiceOption, jsonOption, streamNames, type Verb, wordsOf } from './options.ts'

const columnTypes = wordsOf<AddedType>({
  text: true,
  integer: true,
  bigint: true,
  real: true,
  double: true,
  boolean: true,
  timestamptz: true,
  date: true,
  jsonb: true,
})

const streamArgument = () => new Argument('<stream>', 'the stream').choices(streamNames)
const LIST = 'vitalsync columns list'

export function declareColumns(program: Verb, cli: CliProcess): void {
  const columns = program
    .command('columns')
    .description('columns that you add to a stream, made of what its records hold')
    .examples("vitalsync columns add scores confidence '$.confidence' --type real", LIST)
  columns
    .command('add')
    .description(
      'add a column to warehouse.<stream>_added, and fill it for all stored records; ended, workers fill the rest',
    )
    .addArgument(streamArgument())
    .argument('<name>', 'name of the column')
    .argument('<path>', "where in a record the value is: '$.confidence', '$.factors[0].value'")
    .addOption(
      choiceOption('--type <type>', 'type of the column; what does not fit is null', columnTypes).default('text'),
    )
    .addOption(jsonOption('print the column as JSON'))
    .examples("vitalsync columns add scores confidence '$.confidence' --type real")
    .action(async (stream: string, name: string, path: string, { json, type }: { json: boolean; type: AddedType }) => {
      const { runColumnsAdd } = await import('../commands/columns.ts')
      await runColumnsAdd(cli.context({ json }), { stream, name, path, type })
    })
  columns
    .command('list')
    .description('the added columns, how far each is filled, and how many records hold something that does not fit')
    .addOption(jsonOption('print one JSON object a line'))
    .examples(LIST)
    .action(async ({ json }: { json: boolean }) => {
      const { runColumnsList } = await import('../commands/columns.ts')
      await runColumnsList(cli.context({ json }))
    })
  columns
    .command('drop')
    .description('drop an added column; raw keeps what it was made of')
    .addArgument(streamArgument())
    .argument('<name>', 'name of the column')
    .addOption(jsonOption('print whether there was such a column, as JSON'))
    .examples('vitalsync columns drop scores confidence')
    .action(async (stream: string, name: string, { json }: { json: boolean }) => {
      const { runColumnsDrop } = await import('../commands/columns.ts')
      await runColumnsDrop(cli.context({ json }), { stream, name })
    })
}
