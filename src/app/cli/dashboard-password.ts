import type { Command } from 'commander'
import { type CliProcess, choiceOption, examples, jsonOption } from './options.ts'

type PasswordCliOptions = { role: 'look' | 'act'; json: boolean }

export function declareDashboardPassword(dashboard: Command, cli: CliProcess): void {
  dashboard
    .command('password')
    .description('read a password from standard input, and print the line of DASHBOARD_PASSWORD_FILE for it')
    .argument('<name>', 'by which the person signs in')
    .addOption(
      choiceOption('--role <role>', 'whether the person may act, or only look', ['look', 'act']).default('look'),
    )
    .addOption(jsonOption('print the line as JSON'))
    .addHelpText('after', examples('vitalsync dashboard password ada --role act'))
    .action(async (name: string, { json, role }: PasswordCliOptions) => {
      const { runDashboardPassword } = await import('../commands/dashboard-password.ts')
      cli.exit(await runDashboardPassword(cli.context({ json }), { name, role }))
    })
}
