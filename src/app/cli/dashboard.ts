import type { Command } from 'commander'
import { declareDashboardPassword } from './dashboard-password.ts'
import { type CliProcess, examples, jsonOption, parsePort } from './options.ts'

type DashboardCliOptions = { port?: number; host?: string; json: boolean }

export function declareDashboard(program: Command, cli: CliProcess): void {
  const dashboard = program
    .command('dashboard')
    .description('serve the dashboard: what goes on, what is missing and why, people, failures, runs, questions')
    .option('--port <n>', 'port to listen on; 0 takes a free port (default: DASHBOARD_PORT)', parsePort)
    .option('--host <address>', 'address to listen on (default: DASHBOARD_HOST)')
    .addOption(jsonOption('print one line of JSON when ready'))
    .addHelpText('after', examples('vitalsync dashboard', 'vitalsync dashboard --port 9000'))
    .action(async ({ json, ...options }: DashboardCliOptions) => {
      const { runDashboard } = await import('../commands/dashboard.ts')
      cli.exit(await runDashboard(cli.context({ json }), options))
    })
  declareDashboardPassword(dashboard, cli)
}
