import type { Command } from 'commander'
import { type CliProcess, examples, jsonOption } from './options.ts'

export function declareDoctor(program: Command, cli: CliProcess): void {
  program
    .command('doctor')
    .description('print the configuration in force, try every connection, say what to fix')
    .addOption(jsonOption('print it as JSON'))
    .addHelpText('after', examples('vitalsync doctor', 'vitalsync doctor --json'))
    .action(async ({ json }: { json: boolean }) => {
      const { runDoctor } = await import('../commands/doctor.ts')
      cli.exit(await runDoctor(cli.uncheckedContext({ json })))
    })
}
