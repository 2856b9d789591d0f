import { readFileSync } from 'node:fs'
import { Command, Help } from 'commander'
import { painterFor } from '../terminal/terminal.ts'
import { declareBackfill } from './backfill.ts'
import { declareCompletion } from './completion.ts'
import { declareDashboard } from './dashboard.ts'
import { declareDoctor } from './doctor.ts'
import { declareFailures } from './failures.ts'
import { declareGrantReader } from './grant-reader.ts'
import { declareImport } from './import.ts'
import { declareMigrate } from './migrate.ts'
import type { CliProcess } from './options.ts'
import { declareProfiles } from './profiles.ts'
import { declareQuarantine } from './quarantine.ts'
import { declareExplain } from './questions/explain.ts'
import { declareExport } from './questions/export.ts'
import { declareGaps } from './questions/gaps.ts'
import { declarePlan } from './questions/plan.ts'
import { declareSql } from './questions/sql.ts'
import { declareStatus } from './questions/status.ts'
import { declareWhy } from './questions/why.ts'
import { declareRuns } from './runs.ts'
import { declareSchedule } from './schedule.ts'
import { declareEvaluate } from './service/evaluate.ts'
import { declareSandbox } from './service/sandbox.ts'
import { declareService } from './service/service.ts'
import { declareSync } from './sync.ts'
import { declareUp } from './up.ts'
import { declareVerify } from './verify.ts'
import { declareWorker } from './worker.ts'

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
