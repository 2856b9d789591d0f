import type { Command } from 'commander'
import { z } from 'zod'
import { createProgram } from '../../src/cli/program.ts'
import { jsonSchemas } from '../../src/commands/json.ts'
import { csvColumns } from '../../src/intake/items.ts'

/** The tree of commands, without a process around it. */
export const tree = (): Command =>
  createProgram({
    context: () => {
      throw new Error('nothing runs here')
    },
    exit: () => undefined,
  })

export type Listed = { readonly name: string; readonly command: Command }

/** Every command that does something, by its words. */
export function commandsOf(command: Command, before = ''): Listed[] {
  return command.commands.flatMap((child) => {
    const name = `${before}${child.name()}`
    const own = child.commands.length === 0 || child.name() === 'service' ? [{ name, command: child }] : []
    return [...own, ...commandsOf(child, `${name} `)]
  })
}

const intro = `# The command line

\`vitalsync <command>\`: in a checkout \`npx vitalsync …\` or \`npm run vitalsync -- …\`. This page is made of the commands
themselves; a test holds it against them.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | finished with failures, or stopped before the end |
| 2 | usage or configuration is wrong |
| 3 | an engine (Postgres, the queue, the Profile Service) could not be reached |

- **Where a command works.** On \`DATABASE_URL\`, \`QUEUE_URL\` and \`UPSTREAM_URL\` where they are set. Without them it joins
  the engines that \`vitalsync up\` runs in the data folder (\`VITALSYNC_DATA\`), and starts them for its own time where nothing
  runs. On a database of your own, run \`vitalsync migrate\` first.
- **A Redis Cluster.** \`QUEUE_URL\` names some of its nodes, \`redis://user:password@a:6379,b:6379,c:6379\`, or one of them and
  \`?cluster\`; the others are found. User, password and TLS (\`rediss://\`) of the first address hold for all. Queue and budget
  lie on one slot, so on one of its masters.
- **\`--json\`.** A single result is one JSON object; a list is one object a line. Results go to standard output, everything
  else to standard error. Fields are added, never renamed or taken away. Instants are ISO 8601 in UTC.
- **Terminals.** Bars and colours only on a terminal; elsewhere, and where \`TERM\` is \`dumb\`, plain lines every few seconds.
  \`NO_COLOR\` takes the colours away. A closed pipe (\`… | head\`) is no failure: the command leaves, with 0.
- **Ctrl-C** once lets what is under way finish and leaves; twice stops at once (exit code 130). What was stopped is carried
  on by the same command.
- **Completion.** \`source <(vitalsync completion bash)\`, or \`zsh\`, \`fish\`.
- **What a sample proves.** \`verify\` reads covered windows anew and prints the share that differs with its sample size; beside it
  stands the upper end of the 95 % Wilson interval, for a small sample without differences proves little.

## Files that come in

\`import\` reads NDJSON, one object a line as upstream takes it with \`externalId\` beside its fields, or CSV whose first line names
the columns. Empty cells are absent. \`additionalProperties.<name>\` is a column for each further property. A date-time without an
offset is of \`--time-zone\` (UTC when absent): of an hour that happens twice the first is meant, one that never was counts from
before the change. A log without \`id\` gets one derived from person, logType, dataType, source, start and end, so that the same
measurement read again is the same log. Lines that do not fit are written to the rejects file as
\`{"line", "reason", "text"}\`; they cost their neighbours nothing.

${Object.entries(csvColumns)
  .map(([kind, columns]) => `- **${kind}**: \`externalId\`, ${columns.map((column) => `\`${column}\``).join(', ')}`)
  .join('\n')}

## Files that go out

\`export\` reads the public views of schema \`warehouse\`, one row a record. NDJSON keeps JSON columns as JSON; CSV, Parquet and
Singer carry them as text. In CSV an empty cell is null and an empty text is quoted. Instants are UTC with microseconds. With
\`--state\` a stopped export goes on where it was (Parquet begins anew, for half a file is none), and one that was finished brings
next time only what changed since. A change is dated by the request that brought it and may be stored up to an hour later, so
the last hour is read again: a row may come twice, none is missed. \`external_id\`, the key columns and \`revision\` tell. For Singer
the target keeps the state: give its last line back with \`--state\`.

## Commands
`

/** docs/cli.md as it should read. */
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
  const schema: z.ZodType | undefined = Object.entries(jsonSchemas).find(([key]) => key === name)?.[1]
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

/** What the help gives as examples. */
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
    const nested = [inner, ...(inner.anyOf ?? [])].find((one) => one.properties || one.items?.properties)
    return nested ? `\`${field}\` (${fieldsOf(nested)})` : `\`${field}\``
  })
  return fields.join(', ')
}

/** Zod's type of a JSON Schema allows forms that objects of plain fields never have. */
const shapeOf = (schema: z.ZodType) => z.toJSONSchema(schema, { unrepresentable: 'any' }) as Node
