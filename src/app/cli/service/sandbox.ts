import type { Command } from 'commander'
import { sandboxDefaults } from '../../sandbox-defaults.ts'
import { type CliProcess, collectValues, examples, jsonOption, parsePort, parseWhole } from '../options.ts'
import { declareSandboxPeople } from './sandbox-people.ts'

type SandboxCliOptions = {
  port?: number
  host: string
  profiles: number
  days: number
  seed: string
  fault: string[]
  json: boolean
}

export function declareSandbox(program: Command, cli: CliProcess): void {
  const sandbox = program
    .command('sandbox')
    .description('run the Profile Service with sample people, injected faults and a clock that can be moved')
    .option('--port <n>', 'port to listen on; 0 takes a free port (default: PORT, else a free port)', parsePort)
    .option('--host <address>', 'address to listen on', sandboxDefaults.host)
    .option('--profiles <n>', 'how many people', parseWhole, sandboxDefaults.profiles)
    .option('--days <n>', 'number of past days with logs', parseWhole, sandboxDefaults.days)
    .option('--seed <words>', 'random seed: the same seed makes the same people', sandboxDefaults.seed)
    .option(
      '--fault <name=rate>',
      'a fault that is injected from the start; may be given several times',
      collectValues,
      [],
    )
    .addOption(jsonOption('print one line of JSON when ready'))
    .addHelpText(
      'after',
      examples(
        'vitalsync sandbox',
        'vitalsync sandbox --port 0 --profiles 100 --seed 7 --json',
        'vitalsync sandbox --fault throttle=0.1 --fault late=0.2,hours=6',
      ),
    )
    .action(async ({ json, fault: faults, ...options }: SandboxCliOptions) => {
      const { runSandbox } = await import('../../commands/service/sandbox.ts')
      cli.exit(await runSandbox(cli.context({ json }), { ...options, faults }))
    })
  declareSandboxPeople(sandbox, cli)
}
