import { readFileSync } from 'node:fs'
import { Argument, type Command, Help } from 'commander'
import type { CommandWords, OptionChoices, Shell } from '../commands/completion.ts'
import { painterFor } from '../terminal/terminal.ts'
import { declareColumns } from './columns.ts'
import { declareDrift } from './drift.ts'
import { declareFailures } from './failures.ts'
import { type CliProcess, Verb } from './options.ts'
import {
  declareDashboard,
  declareDoctor,
  declareGrantReader,
  declareMigrate,
  declareSchedule,
  declareUp,
  declareWorker,
} from './processes.ts'
import { declareProfiles } from './profiles.ts'
import { declareQuarantine } from './quarantine.ts'
import {
  declareExplain,
  declareExport,
  declareGaps,
  declarePlan,
  declareSql,
  declareStatus,
  declareWhy,
} from './questions.ts'
import { declareEvaluate, declareHar, declareSandbox, declareService } from './service.ts'
import { declareBackfill, declareImport, declareRuns, declareSync, declareVerify } from './transfers.ts'

/** In the order of the help. */
const declarations: ReadonlyArray<(program: Verb, cli: CliProcess) => void> = [
  declareUp,
  declareDashboard,
  declareWorker,
  declareSchedule,
  declareMigrate,
  declareSandbox,
  declareHar,
  declareSync,
  declarePlan,
  declareBackfill,
  declareVerify,
  declareDoctor,
  declareStatus,
  declareWhy,
  declareGaps,
  declareRuns,
  declareExplain,
  declareEvaluate,
  declareFailures,
  declareQuarantine,
  declareDrift,
  declareColumns,
  declareProfiles,
  declareImport,
  declareExport,
  declareSql,
  declareGrantReader,
  declareService,
  declareCompletion,
]

/** The tree of all commands. A command loads its code only when it is run, so help and completion answer at once. */
export function createProgram(cli: CliProcess): Command {
  const program = new Verb('vitalsync')
    .version(readVersion(), '-V, --version')
    .description('Sync worker between a health data service and a Postgres warehouse.')
    .exitOverride()
    // An option belongs to the word that it follows: `service` and `service keys create` both take --json.
    .enablePositionalOptions()
    .showSuggestionAfterError()
    .configureHelp({ optionDescription: describeOption })
    .configureOutput({
      outputError: (text, write) => write(text.replace(/^error:/, painterFor(process.stderr)('bad', 'vitalsync:'))),
    })
  for (const declare of declarations) declare(program, cli)
  showExamplesAfterErrors(program, '')
  return program
}

/** A default that says only that nothing was given is noise. */
const describeOption: Help['optionDescription'] = (option) =>
  new Help().optionDescription(option).replace(/ ?\(default: (\[\]|false|"")\)$/, '')

function readVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'))
  return String(version)
}

/** A usage error points to the command's examples. */
function showExamplesAfterErrors(command: Command, words: string): void {
  command.showHelpAfterError(`  → Examples: vitalsync ${words}--help`)
  for (const child of command.commands) showExamplesAfterErrors(child, `${words}${child.name()} `)
}

const shells: readonly Shell[] = ['bash', 'zsh', 'fish']

/** The script is made of the commands as they are declared. */
function declareCompletion(program: Verb, cli: CliProcess): void {
  program
    .command('completion')
    .description('print a script that completes commands, options and their words in your shell')
    .addArgument(new Argument('<shell>', 'which shell').choices(shells))
    .examples(
      'source <(vitalsync completion bash)',
      'vitalsync completion zsh > ~/.zfunc/_vitalsync',
      'vitalsync completion fish > ~/.config/fish/completions/vitalsync.fish',
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
