import { readFileSync } from 'node:fs'
import { Argument, type Command, Help } from 'commander'
import { painterFor } from '../terminal/terminal.ts'
import { type CliProcess, Verb } from './options.ts'
import * as processes from './processes.ts'
import { declareProfiles } from './profiles.ts'
import * as questions from './questions.ts'
import * as service from './service.ts'
import * as transfers from './transfers.ts'
import * as troubles from './troubles.ts'

/** In the order of the help. */
const declarations: ReadonlyArray<(program: Verb) => void> = [
  processes.declareUp,
  processes.declareDashboard,
  processes.declareWorker,
  processes.declareSchedule,
  processes.declareMigrate,
  service.declareSandbox,
  service.declareHar,
  transfers.declareSync,
  questions.declarePlan,
  transfers.declareBackfill,
  transfers.declareVerify,
  processes.declareDoctor,
  questions.declareStatus,
  questions.declareWhy,
  questions.declareGaps,
  transfers.declareRuns,
  questions.declareExplain,
  service.declareEvaluate,
  troubles.declareFailures,
  troubles.declareQuarantine,
  troubles.declareDrift,
  questions.declareColumns,
  declareProfiles,
  transfers.declareImport,
  questions.declareExport,
  questions.declareSql,
  processes.declareGrantReader,
  service.declareService,
  declareCompletion,
]

/** The tree of all commands. A command loads its code only when it is run, so help and completion answer at once. */
export function createProgram(cli: CliProcess): Command {
  const program = new Verb(cli, 'vitalsync')
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
  for (const declare of declarations) declare(program)
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

const shells = ['bash', 'zsh', 'fish'] as const

/** The script is made of the commands as they are declared. */
function declareCompletion(program: Verb): void {
  program
    .command('completion')
    .description('print a script that completes commands, options and their words in your shell')
    .addArgument(new Argument('<shell>', 'which shell').choices(shells))
    .examples(
      'source <(vitalsync completion bash)',
      'vitalsync completion zsh > ~/.zfunc/_vitalsync',
      'vitalsync completion fish > ~/.config/fish/completions/vitalsync.fish',
    )
    .action(async (shell: (typeof shells)[number]) => {
      const { completionScript } = await import('../commands/completion.ts')
      program.cli.print(completionScript(shell, program))
    })
}
