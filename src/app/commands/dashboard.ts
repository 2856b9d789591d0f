import { startDashboard } from '../../dashboard/start-dashboard.ts'
import { untilAborted } from '../../operations/processes/repeat.ts'
import { type CommandContext, exitCodes } from '../terminal/command-context.ts'
import { withPipeline } from '../with-pipeline.ts'

type DashboardOptions = { readonly port?: number; readonly host?: string }

/** Serves the dashboard until it is stopped, on the engines that run or that it starts. */
export async function runDashboard(context: CommandContext, options: DashboardOptions): Promise<number> {
  const { config, terminal, log } = context
  await withPipeline(context, async ({ pipeline, addresses, closeStack, signal }) => {
    const { port = config.dashboard.port, host = config.dashboard.host } = options
    const dashboard = await startDashboard({ pipeline, addresses, config, log, host, port })
    closeStack.add(dashboard, 'dashboard')
    if (terminal.json) terminal.printJson('dashboard', { url: dashboard.url })
    else terminal.print(`Dashboard: ${dashboard.url}`)
    terminal.say('Ctrl-C stops.')
    await untilAborted(signal)
  })
  return exitCodes.done
}
