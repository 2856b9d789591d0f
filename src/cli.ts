import { Command, CommanderError, InvalidArgumentError } from 'commander'
import { loadEnvironment, readConfig } from '../config/env.ts'
import { addServiceCommands } from './cli/service.ts'
import { runDoctor } from './commands/doctor.ts'
import { migrateWarehouse } from './commands/migrate.ts'
import { runSandbox, sandboxDefaults } from './commands/sandbox.ts'
import { createTerminal } from './commands/terminal.ts'
import { up } from './commands/up.ts'
import { runSchedule, runWorker } from './commands/worker.ts'
import { EngineUnreachable, Problem, UsageProblem } from './errors.ts'
import { createLog } from './log.ts'

/** Arguments → command → exit code. */
const exitCodes = { done: 0, failures: 1, usage: 2, unreachable: 3 } as const

const stop = new AbortController()
let interrupts = 0
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    interrupts += 1
    // Once drains, twice stops.
    if (interrupts > 1) process.exit(130)
    stop.abort(new Error(signal))
  })
}
// A reader that has seen enough (`vitalsync … | head`) is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))

function whole(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}

type SandboxOptions = {
  port?: number
  host: string
  profiles: number
  days: number
  seed: string
  fault: string[]
  json: boolean
}

function gather(text: string, before: string[]): string[] {
  return [...before, text]
}

function context(options: { json?: boolean }) {
  const config = readConfig(loadEnvironment())
  return {
    config,
    terminal: createTerminal({ json: options.json === true }),
    log: createLog({ level: config.logLevel }),
    signal: stop.signal,
  }
}

const program = new Command('vitalsync')
  .description('Sync worker between a health data service and a Postgres warehouse.')
  .exitOverride()
  .showSuggestionAfterError()

program
  .command('up')
  .description('start everything that no address is given for, sync at once, then work by schedule')
  .option('--once', 'leave after the first sync', false)
  .option('--profiles <n>', 'how many sample profiles the local sandbox has', whole, 8)
  .option('--json', 'print what was loaded as JSON', false)
  .addHelpText('after', '\nExamples:\n  vitalsync up\n  vitalsync up --once --profiles 100')
  .action(async (options: { once: boolean; profiles: number; json: boolean }) => {
    process.exitCode = await up({ ...context(options), once: options.once, profiles: options.profiles })
  })

program
  .command('worker')
  .description('work on jobs until SIGTERM')
  .option('--drain', 'leave when nothing is due and nothing waits', false)
  .addHelpText('after', '\nExamples:\n  vitalsync worker\n  vitalsync worker --drain')
  .action(async (options: { drain: boolean }) => {
    process.exitCode = await runWorker({ ...context({}), drain: options.drain })
  })

program
  .command('schedule')
  .description('tick by the cron lines until SIGTERM; any number may run')
  .addHelpText('after', '\nExample:\n  NIGHTLY_CRON="0 4 * * *" SCHEDULE_TIME_ZONE=Europe/Berlin vitalsync schedule')
  .action(async () => {
    process.exitCode = await runSchedule(context({}))
  })

program
  .command('migrate')
  .description('bring the warehouse of DATABASE_URL up to this version')
  .option('--json', 'print what was applied as JSON', false)
  .addHelpText('after', '\nExample:\n  DATABASE_URL=postgres://… vitalsync migrate')
  .action(async (options: { json: boolean }) => {
    const { config, terminal } = context(options)
    const { databaseUrl } = config
    if (!databaseUrl) throw new UsageProblem('migrate: DATABASE_URL is not set', { hint: 'Set it to the warehouse.' })
    const result = await migrateWarehouse(databaseUrl)
    if (terminal.json) terminal.printJson(result)
    else terminal.print(result.applied.length === 0 ? 'Nothing to do.' : `Applied:\n  ${result.applied.join('\n  ')}`)
  })

program
  .command('sandbox')
  .description('run the Profile Service with sample people, faults on request and a clock that can be moved')
  .option('--port <n>', 'where it answers; 0 takes a free port (default: PORT, else a free one)', whole)
  .option('--host <address>', 'address it listens on', sandboxDefaults.host)
  .option('--profiles <n>', 'how many people', whole, sandboxDefaults.profiles)
  .option('--days <n>', 'how many days of life they have behind them', whole, sandboxDefaults.days)
  .option('--seed <words>', 'what everything that looks like chance comes from', sandboxDefaults.seed)
  .option('--fault <name=rate>', 'a fault from the start; may be given several times', gather, [])
  .option('--json', 'print one line of JSON when ready', false)
  .addHelpText(
    'after',
    '\nExamples:\n  vitalsync sandbox\n  vitalsync sandbox --port 0 --profiles 100 --seed 7 --json\n  vitalsync sandbox --fault throttle=0.1 --fault late=0.2,hours=6',
  )
  .action(async ({ fault, ...options }: SandboxOptions) => {
    process.exitCode = await runSandbox({ ...context(options), port: undefined, ...options, faults: fault })
  })

addServiceCommands(program, context, { whole })

program
  .command('doctor')
  .description('print the configuration in force, try every connection, say what to mend')
  .option('--json', 'print it as JSON', false)
  .addHelpText('after', '\nExamples:\n  vitalsync doctor\n  vitalsync doctor --json')
  .action(async (options: { json: boolean }) => {
    const terminal = createTerminal({ json: options.json })
    process.exitCode = await runDoctor({ environment: loadEnvironment(), terminal })
  })

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = failed(error)
}
// What is still open by now is nobody's: a command has closed what it opened.
process.exit()

function failed(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage
  if (error instanceof Problem) {
    process.stderr.write(`vitalsync: ${error.message}\n${error.hint ? `  → ${error.hint}\n` : ''}`)
    if (error instanceof UsageProblem) return exitCodes.usage
    return error instanceof EngineUnreachable ? exitCodes.unreachable : exitCodes.failures
  }
  process.stderr.write(
    `vitalsync: unexpected error, please report it\n${error instanceof Error ? error.stack : String(error)}\n`,
  )
  return exitCodes.failures
}
