import { readFileSync } from 'node:fs'
import { Command, Help } from 'commander'
import { painterFor } from '../terminal/terminal.ts'
import { declareCompletion } from './completion.ts'
import { declareFailures } from './failures.ts'
import type { CliProcess } from './options.ts'
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
import { declareEvaluate, declareSandbox, declareService } from './service.ts'
import { declareBackfill, declareImport, declareRuns, declareSync, declareVerify } from './transfers.ts'

/** In the order of the help. */
const declarations: ReadonlyArray<(program: Command, cli: CliProcess) => void> = [
  declareUp,
  declareDashboard,
  declareWorker,
  declareSchedule,
  declareMigrate,
  declareSandbox,
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
  const program = new Command('vitalsync')
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
