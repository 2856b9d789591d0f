import type { Command } from 'commander'
import { type CliProcess, examples } from './options.ts'

export function declareSchedule(program: Command, cli: CliProcess): void {
  program
    .command('schedule')
    .description('start runs by the cron lines until SIGTERM; any number of processes may run')
    .addHelpText('after', examples('NIGHTLY_CRON="0 4 * * *" SCHEDULE_TIME_ZONE=Europe/Berlin vitalsync schedule'))
    .action(async () => {
      const { runSchedule } = await import('../commands/schedule.ts')
      cli.exit(await runSchedule(cli.context({ json: false })))
    })
}
