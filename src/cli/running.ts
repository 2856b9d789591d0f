import type { Command } from 'commander'
import { sandboxDefaults } from '../commands/sandbox-defaults.ts'
import { UsageProblem } from '../errors.ts'
import { examples, gather, jsonOption, port, type Rim, whole } from './rim.ts'

/** What runs until it is told to stop, and what prepares it. */
export function declareRunning(program: Command, rim: Rim): void {
  program
    .command('up')
    .description('start everything that no address is given for, sync at once, then work by schedule')
    .option('--once', 'leave after the first sync', false)
    .option('--profiles <n>', 'how many sample profiles the local sandbox has', whole, 8)
    .addOption(jsonOption('print what was loaded as JSON'))
    .addHelpText('after', examples('vitalsync up', 'vitalsync up --once --profiles 100'))
    .action(async (options: { once: boolean; profiles: number; json: boolean }) => {
      const { up } = await import('../commands/up.ts')
      rim.exit(await up({ ...rim.context(options), once: options.once, profiles: options.profiles }))
    })
  program
    .command('worker')
    .description('work on jobs until SIGTERM')
    .option('--drain', 'leave when nothing is due and nothing waits', false)
    .addHelpText('after', examples('vitalsync worker', 'vitalsync worker --drain'))
    .action(async (options: { drain: boolean }) => {
      const { runWorker } = await import('../commands/worker.ts')
      rim.exit(await runWorker({ ...rim.context({}), drain: options.drain }))
    })
  program
    .command('schedule')
    .description('tick by the cron lines until SIGTERM; any number may run')
    .addHelpText('after', examples('NIGHTLY_CRON="0 4 * * *" SCHEDULE_TIME_ZONE=Europe/Berlin vitalsync schedule'))
    .action(async () => {
      const { runSchedule } = await import('../commands/worker.ts')
      rim.exit(await runSchedule(rim.context({})))
    })
  program
    .command('migrate')
    .description('bring the warehouse of DATABASE_URL up to this version')
    .addOption(jsonOption('print what was applied as JSON'))
    .addHelpText('after', examples('DATABASE_URL=postgres://… vitalsync migrate'))
    .action(async (options: { json: boolean }) => {
      const { config, terminal } = rim.context(options)
      const { databaseUrl } = config
      if (!databaseUrl) throw new UsageProblem('migrate: DATABASE_URL is not set', { hint: 'Set it to the warehouse.' })
      const { migrateWarehouse } = await import('../commands/migrate.ts')
      const result = await migrateWarehouse(databaseUrl)
      if (terminal.json) terminal.printJson(result)
      else terminal.print(result.applied.length === 0 ? 'Nothing to do.' : `Applied:\n  ${result.applied.join('\n  ')}`)
    })
  declareSandbox(program, rim)
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

function declareSandbox(program: Command, rim: Rim): void {
  program
    .command('sandbox')
    .description('run the Profile Service with sample people, faults on request and a clock that can be moved')
    .option('--port <n>', 'where it answers; 0 takes a free port (default: PORT, else a free one)', port)
    .option('--host <address>', 'address it listens on', sandboxDefaults.host)
    .option('--profiles <n>', 'how many people', whole, sandboxDefaults.profiles)
    .option('--days <n>', 'how many days of life they have behind them', whole, sandboxDefaults.days)
    .option('--seed <words>', 'what everything that looks like chance comes from', sandboxDefaults.seed)
    .option('--fault <name=rate>', 'a fault from the start; may be given several times', gather, [])
    .addOption(jsonOption('print one line of JSON when ready'))
    .addHelpText(
      'after',
      examples(
        'vitalsync sandbox',
        'vitalsync sandbox --port 0 --profiles 100 --seed 7 --json',
        'vitalsync sandbox --fault throttle=0.1 --fault late=0.2,hours=6',
      ),
    )
    .action(async ({ fault, ...options }: SandboxOptions) => {
      const { runSandbox } = await import('../commands/sandbox.ts')
      rim.exit(await runSandbox({ ...rim.context(options), port: undefined, ...options, faults: fault }))
    })
}
