import { InvalidArgumentError, Option } from 'commander'
import { UsageProblem } from '../../base/errors.ts'
import { parsePartList } from '../../pipeline/fleet/queue-parts.ts'
import { sandboxDefaults } from '../sandbox-defaults.ts'
import { choiceOption, collectValues, parsePort, parseWhole, type Verb } from './options.ts'

export function declareUp(program: Verb): void {
  program
    .command('up')
    .description('start every engine that has no given address, sync at once, then work by schedule')
    .option('--once', 'exit after the first sync', false)
    .option(
      '--profiles <n>',
      `how many sample profiles the local sandbox has (default: as before; ${sandboxDefaults.profiles} where nobody is known yet)`,
      parseWhole,
    )
    .option(
      '--days <n>',
      `how many past days of logs a new sample profile has (default: as before; ${sandboxDefaults.days} at first)`,
      parseWhole,
    )
    .json('print what was loaded as JSON')
    .examples('vitalsync up', 'vitalsync up --once --profiles 100', 'vitalsync up --profiles 2 --days 7')
    .does(async ({ config, terminal }) => {
      // Before the whole product is loaded, which takes half a second.
      terminal.say(`vitalsync: starting in ${config.dataFolder}`)
      return (await import('../commands/up.ts')).runUp
    })
}

function declareDashboardPassword(dashboard: Verb): void {
  dashboard
    .command('password')
    .description('read a password from standard input, and print the line of DASHBOARD_PASSWORD_FILE for it')
    .argument('<name>', 'by which the person signs in')
    .addOption(
      choiceOption('--role <role>', 'whether the person may act, or only look', ['look', 'act']).default('look'),
    )
    .json('print the line as JSON')
    .examples('vitalsync dashboard password ada --role act')
    .does(async () => (await import('../commands/dashboard.ts')).runDashboardPassword)
}

export function declareDashboard(program: Verb): void {
  const dashboard = program
    .command('dashboard')
    .description('serve the dashboard: what goes on, what is missing and why, people, failures, runs, questions')
    .option('--port <n>', 'port to listen on; 0 takes a free port (default: DASHBOARD_PORT)', parsePort)
    .option('--host <address>', 'address to listen on (default: DASHBOARD_HOST)')
    .option(
      '--draw-password',
      'without DASHBOARD_PASSWORD_FILE: operator signs in, by a password drawn into the data folder',
      false,
    )
    .json('print one line of JSON when ready')
    .examples('vitalsync dashboard', 'vitalsync dashboard --port 9000')
    .does(async () => (await import('../commands/dashboard.ts')).runDashboard)
  declareDashboardPassword(dashboard)
}

function parseParts(text: string): number[] {
  const parts = parsePartList(text)
  if (!parts) throw new InvalidArgumentError('It must be parts of the queue such as 0-3 or 0,2,5-7.')
  return parts
}

export function declareWorker(program: Verb): void {
  program
    .command('worker')
    .description('work on jobs until SIGTERM')
    .option('--drain', 'enqueue due profiles, and exit when no profile is due and no job waits', false)
    .addOption(new Option('--parts <parts>', 'parts of the queue to work on; absent: all').argParser(parseParts))
    .examples('vitalsync worker', 'vitalsync worker --drain', 'vitalsync worker --parts 0-3')
    .does(async () => (await import('../commands/serve-pipeline.ts')).runWorker)
}

export function declareSchedule(program: Verb): void {
  program
    .command('schedule')
    .description('start runs by the cron lines until SIGTERM; any number of processes may run')
    .examples('NIGHTLY_CRON="0 4 * * *" SCHEDULE_TIME_ZONE=Europe/Berlin vitalsync schedule')
    .does(async () => (await import('../commands/serve-pipeline.ts')).runSchedule)
}

const SHARDS_MAX = 1024

function parseShards(text: string): number {
  const shards = parseWhole(text)
  if (shards < 2 || shards > SHARDS_MAX)
    throw new InvalidArgumentError(`It must be a whole number from 2 to ${SHARDS_MAX}.`)
  return shards
}

export function declareMigrate(program: Verb): void {
  program
    .command('migrate')
    .description('bring the warehouse of DATABASE_URL up to this version, or divide it among the nodes of Citus')
    .option('--check', 'change nothing: say what is missing, and whether the former version works beside it', false)
    .option(
      '--distribute',
      'divide the tables of profiles among the nodes of Citus, after migrating (docs/how-to/citus.md)',
      false,
    )
    .option(
      '--shards <n>',
      'with --distribute: the number of shards; WAREHOUSE_SHARDS where it is set, else 32',
      parseShards,
    )
    .json('print what was applied as JSON')
    .examples(
      'DATABASE_URL=postgres://… vitalsync migrate',
      'DATABASE_URL=postgres://… vitalsync migrate --check',
      'DATABASE_URL=postgres://coordinator… vitalsync migrate --distribute --shards 64',
    )
    .does(async (_context, { check, distribute, shards }: { check: boolean; distribute: boolean; shards?: number }) => {
      if (shards !== undefined && !distribute)
        throw new UsageProblem('migrate: --shards is given without --distribute', { hint: 'Give both, or neither.' })
      if (check && distribute)
        throw new UsageProblem('migrate: --check and --distribute exclude each other', { hint: 'Give one of them.' })
      const { runMigrate, runMigrateCheck } = await import('../commands/migrate.ts')
      return check ? runMigrateCheck : runMigrate
    })
}

type DoctorOptions = Parameters<typeof import('../commands/doctor-contract.ts').runDoctorContract>[1] & {
  json: boolean
  contract: boolean
}

/** The configuration that it examines may be wrong. */
export function declareDoctor(program: Verb): void {
  const { cli } = program
  program
    .command('doctor')
    .description('print the configuration in force, try every connection, say what to fix')
    .option('--contract', 'compare what upstream answers with the specification, point by point; reads only', false)
    .option('--write', 'with --contract: register a profile, write to it and delete it', false)
    .option('--profile <externalId>', 'with --contract: ask about this person; up to three', collectValues, [])
    .option('--save <file>', 'with --contract: keep the result, without names and values, for --compare')
    .option('--compare <file>', 'with --contract: say what has changed since --save')
    .json('print it as JSON')
    .examples('vitalsync doctor', 'vitalsync doctor --json', 'vitalsync doctor --contract --save upstream.json')
    .action(async ({ contract, json, ...options }: DoctorOptions) => {
      if (contract) {
        const { runDoctorContract } = await import('../commands/doctor-contract.ts')
        return cli.exit(await runDoctorContract(cli.context({ json }), options))
      }
      if (options.write || options.profile.length > 0 || options.save || options.compare)
        throw new UsageProblem('doctor: --write, --profile, --save and --compare belong to --contract', {
          hint: 'Give --contract too.',
        })
      const { runDoctor } = await import('../commands/doctor.ts')
      cli.exit(await runDoctor(cli.uncheckedContext({ json })))
    })
}

export function declareGrantReader(program: Verb): void {
  program
    .command('grant-reader')
    .description('let a database role read the public views and nothing else; creates the role where it is missing')
    .argument('<role>', 'role of an analyst or a dashboard')
    .examples('vitalsync grant-reader vitalsync_reader')
    .does(async () => (await import('../commands/migrate.ts')).runGrantReader)
}
