import { type Command, CommanderError } from 'commander'
import { commandsOf, tree } from './reference.ts'

/** All that the parser prints about these words, without running a command; empty when the words are valid. */
export async function parserMessageOf(words: readonly string[]): Promise<string> {
  let said = ''
  const program = tree()
  const hear = (command: Command) => {
    command.configureOutput({ writeErr: (text) => (said += text), writeOut: (text) => (said += text) })
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

/** The words after `vitalsync` in a shell line, without variables, pipes and redirects. */
export function wordsIn(line: string): string[] | undefined {
  const [, after] = /(?:^|[\s(])vitalsync(?:\s+(.*))?$/.exec(line) ?? []
  if (after === undefined) return undefined
  const words = after.match(/"[^"]*"|'[^']*'|[|>)]|[^\s|>)]+/g) ?? []
  const end = words.findIndex((word) => /^[|>)]$/.test(word))
  return (end === -1 ? words : words.slice(0, end)).map((word) => word.replace(/^(["'])(.*)\1$/, '$2'))
}
