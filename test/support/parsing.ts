import { type Command, CommanderError } from 'commander'
import { commandsOf, tree } from '../commands/reference.ts'

/** What the parser says of these words, without running anything: nothing, when it takes them. */
export async function refusalOf(words: readonly string[]): Promise<string> {
  let said = ''
  const program = tree()
  const hear = (command: Command) => {
    command.configureOutput({ writeErr: (text) => (said += text), writeOut: () => undefined })
    command.commands.forEach(hear)
  }
  hear(program)
  for (const { command } of commandsOf(program)) command.action(() => undefined)
  try {
    await program.parseAsync(words, { from: 'user' })
    return ''
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    return said || error.message
  }
}

/** The words after `vitalsync` of a line for a shell: without what sets variables, pipes or redirects around it. */
export function wordsIn(line: string): string[] | undefined {
  const [, after] = /(?:^|[\s(])vitalsync(?:\s+(.*))?$/.exec(line) ?? []
  if (after === undefined) return undefined
  const words = after.match(/"[^"]*"|'[^']*'|[|>)]|[^\s|>)]+/g) ?? []
  const end = words.findIndex((word) => /^[|>)]$/.test(word))
  return (end === -1 ? words : words.slice(0, end)).map((word) => word.replace(/^(["'])(.*)\1$/, '$2'))
}
