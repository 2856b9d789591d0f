import type { Command } from 'commander'
import { z } from 'zod'
import { catalogue } from '../../../config/streams.ts'
import { createProgram } from '../../../src/app/cli/program.ts'
import { jsonResultSchemas } from '../../../src/app/results/json-results.ts'
import { csvColumnsOf, requiredColumnsOf } from '../../../src/intake/outbox-items.ts'

/** The tree of commands, without a process. */
export const tree = (print: (text: string) => void = () => undefined): Command =>
  createProgram({ context: nothingRuns, uncheckedContext: nothingRuns, print, exit: () => undefined })

const nothingRuns = () => {
  throw new Error('nothing runs here')
}

export type Listed = { readonly name: string; readonly command: Command }

/** Every command that can be run, by its words. */
export function commandsOf(command: Command, before = ''): Listed[] {
  return command.commands.flatMap((child) => {
    const name = `${before}${child.name()}`
    const own =
      child.commands.length === 0 ||
      ['service', 'explain', 'import', 'runs', 'sandbox', 'dashboard'].includes(child.name())
        ? [{ name, command: child }]
        : []
    return [...own, ...commandsOf(child, `${name} `)]
  })
}

/** Required columns are bold. */
function columnsOf(stream: (typeof catalogue.pushed)[number]): string {
  const required = ['externalId', ...requiredColumnsOf(stream)]
  const shown = (name: string) => (required.includes(name) ? `**\`${name}\`**` : `\`${name}\``)
  return ['externalId', ...csvColumnsOf(stream)].map(shown).join(', ')
}

const intro = `# The command line

For everybody who types commands: each command, option, exit code and JSON field.

\`vitalsync <command>\`: in a checkout \`npx vitalsync …\` or \`npm run vitalsync -- …\`. This page is generated from the
commands; a test compares the two.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | finished with failures, or stopped before the end |
| 2 | usage or configuration is wrong |
| 3 | an engine (Postgres, the queue, the Profile Service) could not be reached |

**Nothing found.** When a command names something that does not exist (an id, an externalId, an account), the exit code is 2, with the command
that lists what there is. A filter, a range or a file that matches nothing is done: 0, and says so. Only \`verify\` of nothing is a
failure, 1, for it proves nothing.

- **Where a command works.** On \`DATABASE_URL\`, \`QUEUE_URL\` and \`UPSTREAM_URL\` where they are set. Without them it joins
  the engines that \`vitalsync up\` runs in the data folder (\`VITALSYNC_DATA\`); where no engine runs, the command starts the
  engines and stops them at its end. \`vitalsync service keys\`, \`tokens\`, \`sources\` and \`grant\`, and \`evaluate\`, join the
  Profile Service of \`vitalsync up\`, else that of \`vitalsync sandbox\`. On a database of your own, run \`vitalsync migrate\` first.
- **A Redis Cluster.** \`QUEUE_URL\` names some of its nodes, \`redis://user:password@a:6379,b:6379,c:6379\`, or one node and
  \`?cluster\`; the other nodes are found. User, password and TLS (\`rediss://\`) of the first address are used for all nodes.
  The queue is stored in one hash slot, so on one master; \`QUEUE_PARTS=8\` spreads it over all. The budget stays on one.
- **\`--json\`.** A single result is one JSON object; a list is one object a line. Results go to standard output, everything
  else to standard error. Fields are added, never renamed or removed. Instants are ISO 8601 in UTC.
- **Terminals.** Bars and colours only on a terminal; elsewhere, and where \`TERM\` is \`dumb\`, plain lines every few seconds.
  \`NO_COLOR\` disables colours. A closed pipe (\`… | head\`) is no failure: the command exits with 0.
- **Ctrl-C** once lets the running work finish, then the command exits; twice stops it at once (exit code 130). The same
  command resumes the work.
- **Completion.** \`source <(vitalsync completion bash)\`, or \`zsh\`, \`fish\`.
- **Sample size.** \`verify\` reads covered windows again and prints the share that differs, with the sample size and the 95 %
  Wilson interval: a small sample without differences proves little. Each covered day has the same chance. If fewer windows
  are covered than were asked for, it reads all and says so. Exit code 1: a window differs and was not mended.

## Files that come in

Exports of health apps are taken as they were downloaded: [imports.md](imports.md). \`import <kind> <file>\` reads our own form: NDJSON, one object a line as upstream takes it with \`externalId\` beside its fields, for data-logs also \`handedInAt\`, or CSV whose first line names
the columns. Empty cells are absent. \`additionalProperties.<name>\` is a column for each further property. A date-time without an
offset is in \`--time-zone\` (UTC when absent): in an hour that happens twice it is the first one; in an hour that is skipped
the offset from before the change is used. A log without \`id\` gets an id derived from person, logType, dataType, source, start and end, so that the same
measurement imported again is the same log. Lines that do not fit are written to the rejects file as
\`{"line", "reason", "text"}\`; the other lines are imported. Columns in bold are required: a CSV file without one of them is refused as
a whole. A \`dataType\` from which nothing is derived is imported and reported, with the closest word.

${catalogue.pushed
  .toReversed()
  .map((stream) => `- **${stream.name}**: ${columnsOf(stream)}`)
  .join('\n')}

## Files that go out

\`export\` reads the public views of schema \`warehouse\`, one row a record. NDJSON keeps JSON columns as JSON; CSV, Parquet and
Singer carry them as text. In CSV an empty cell is null and an empty text is quoted. Instants are UTC with microseconds. With
\`--state\` a stopped export resumes where it stopped (Parquet and a pipe start from the beginning), and after a finished
export the next one writes only the rows that changed since. A change has the time of the request that read it and may be
stored up to an hour later, so the last hour is exported again: a row may come twice, no row is missed. \`external_id\`, the
key columns and \`revision\` identify a row. For Singer the target keeps the state: give its last line with \`--state\`.
With \`--partition-by month\` a folder of Parquet files is written, which DuckDB, Spark and ClickHouse take as one table: see [the lake](../how-to/lake.md).

## Commands
`

/** The expected text of docs/reference/cli.md. */
export function reference(): string {
  const program = tree()
  return `${intro}\n${commandsOf(program).map(sectionOf).join('\n')}`
}

function sectionOf({ name, command }: Listed): string {
  const usage = command.registeredArguments.map((argument) => {
    const many = argument.variadic ? '…' : ''
    return argument.required ? ` <${argument.name()}${many}>` : ` [${argument.name()}${many}]`
  })
  const options = command.options.map(({ flags, description, argChoices, mandatory }) => {
    const words = argChoices ? ` (${argChoices.join(', ')})` : ''
    return `| \`${flags}\` | ${description.replaceAll('|', '\\|')}${words}${mandatory ? '; required' : ''} |`
  })
  const schema: z.ZodType | undefined = Object.entries(jsonResultSchemas).find(([key]) => key === name)?.[1]
  return [
    `### vitalsync ${name}${usage.join('')}`,
    '',
    `${command.description()}.`,
    '',
    '```sh',
    ...examplesOf(command),
    '```',
    '',
    ...(options.length > 0 ? ['| option | meaning |', '|---|---|', ...options, ''] : []),
    ...(schema ? [`With \`--json\`: ${fieldsOf(shapeOf(schema))}.`, ''] : []),
  ].join('\n')
}

/** The examples of the help text. */
export function examplesOf(command: Command): string[] {
  let help = ''
  command.configureOutput({ writeOut: (text) => (help += text) })
  command.outputHelp()
  const [, examples = ''] = help.split(/\nExamples?:\n/)
  return examples
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
}

type Node = {
  type?: string | string[]
  properties?: Record<string, Node>
  items?: Node
  enum?: unknown[]
  anyOf?: Node[]
  format?: string
}

function fieldsOf(node: Node): string {
  if (node.anyOf) {
    const kinds = node.anyOf.filter(({ type }) => type !== 'null')
    return kinds.map(fieldsOf).join(' or ')
  }
  if (node.items) return `list of ${fieldsOf(node.items)}`
  if (!node.properties) return 'object'
  const fields = Object.entries(node.properties).map(([field, inner]) => {
    const nested = [inner, ...(inner.anyOf ?? [])].find((schema) => schema.properties || schema.items?.properties)
    return nested ? `\`${field}\` (${fieldsOf(nested)})` : `\`${field}\``
  })
  return fields.join(', ')
}

/** Zod's type of a JSON Schema allows forms that these schemas do not have. */
const shapeOf = (schema: z.ZodType) => z.toJSONSchema(schema, { unrepresentable: 'any' }) as Node
