import type { Command } from 'commander'
import { exportWriters } from '../../../service/sandbox/exports/export-writers.ts'
import { sandboxDefaults } from '../../sandbox-defaults.ts'
import {
  type CliProcess,
  choiceOption,
  examples,
  jsonOption,
  parseDateOption,
  parsePositive,
  parseWhole,
} from '../options.ts'

type PeopleOptions = {
  as: string
  person: number
  days: number
  seed: string
  until?: Date
  output: string
  json: boolean
}

export function declareSandboxPeople(sandbox: Command, cli: CliProcess): void {
  sandbox
    .command('people')
    .description('write a made-up person’s logs as the file that a health app exports')
    .addOption(choiceOption('--as <format>', 'the export', Object.keys(exportWriters)).default('apple-health'))
    .option('--person <n>', 'which person of the seed, from 1', parsePositive, 1)
    .option('--until <date>', 'the instant up to which there are logs; now when absent', parseDateOption)
    .option('--output <folder>', 'folder for the file', '.')
    .option('--days <n>', 'number of past days with logs', parseWhole, sandboxDefaults.days)
    .option('--seed <words>', 'random seed: the same seed makes the same people', sandboxDefaults.seed)
    .addOption(jsonOption('print the path and the person as JSON'))
    .addHelpText('after', examples('vitalsync sandbox people --as apple-health --person 7'))
    .action(async ({ json, ...options }: PeopleOptions) => {
      const { runSandboxPeople } = await import('../../commands/service/sandbox-people.ts')
      cli.exit(await runSandboxPeople(cli.context({ json }), options))
    })
}
