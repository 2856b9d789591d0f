import { Argument, type Command } from 'commander'
import type { CommandWords, OptionChoices, Shell } from '../commands/completion.ts'
import { type CliProcess, examples } from './options.ts'

const shells: readonly Shell[] = ['bash', 'zsh', 'fish']

/** The script is made of the commands as they are declared. */
export function declareCompletion(program: Command, cli: CliProcess): void {
  program
    .command('completion')
    .description('print a script that completes commands, options and their words in your shell')
    .addArgument(new Argument('<shell>', 'which shell').choices(shells))
    .addHelpText(
      'after',
      examples(
        'source <(vitalsync completion bash)',
        'vitalsync completion zsh > ~/.zfunc/_vitalsync',
        'vitalsync completion fish > ~/.config/fish/completions/vitalsync.fish',
      ),
    )
    .action(async (shell: Shell) => {
      const { runCompletion } = await import('../commands/completion.ts')
      const options = { shell, commands: commandWordsOf(program), choices: optionChoicesOf(program) }
      cli.exit(runCompletion(cli, options))
    })
}

function commandWordsOf(command: Command, path = ''): CommandWords[] {
  const words = [
    ...command.commands.map((child) => child.name()),
    ...command.registeredArguments.flatMap((argument) => argument.argChoices ?? []),
    ...command.options.map(({ long }) => long ?? '').filter(Boolean),
    '--help',
  ]
  const entry = { path, about: command.description(), words }
  return [entry, ...command.commands.flatMap((child) => commandWordsOf(child, `${path} ${child.name()}`))]
}

function optionChoicesOf(command: Command, path = ''): OptionChoices[] {
  const choices = command.options.flatMap(({ long, argChoices }) =>
    long && argChoices ? [{ path: `${path} ${long}`, words: argChoices }] : [],
  )
  return [...choices, ...command.commands.flatMap((child) => optionChoicesOf(child, `${path} ${child.name()}`))]
}
