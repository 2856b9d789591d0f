import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import type { Config } from '../../../config/env.ts'
import { UsageProblem } from '../../base/errors.ts'
import { dataFolderHint, makeDataFolder } from '../../base/files/data-folder.ts'
import { readOrDrawSecret, replacePrivateFile } from '../../base/files/private-file.ts'
import { startDashboard } from '../../dashboard/start-dashboard.ts'
import { untilAborted } from '../../operations/processes/repeat.ts'
import { passwordLine, type Role, requireSignInName } from '../../web/passwords.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { printResult } from '../terminal/print-result.ts'
import { withPipeline } from '../with-pipeline.ts'

type DashboardOptions = { readonly port?: number; readonly host?: string; readonly drawPassword: boolean }

/** Serves the dashboard until it is stopped, on the engines that run or that it starts. */
export async function runDashboard(context: CommandContext, options: DashboardOptions): Promise<void> {
  const { terminal, log } = context
  const config = options.drawPassword ? await withDrawnPassword(context) : context.config
  await withPipeline(context, async ({ pipeline, addresses, closeStack, signal }) => {
    const { port = config.dashboard.port, host = config.dashboard.host } = options
    const dashboard = await startDashboard({ pipeline, addresses, config, log, host, port })
    closeStack.add(dashboard, 'dashboard')
    printResult(terminal, ['dashboard', { url: dashboard.url }], `Dashboard: ${dashboard.url}`)
    terminal.say('Ctrl-C stops.')
    await untilAborted(signal)
  })
}

const DRAWN_NAME = 'operator'

/** A configuration with a password file: that of the settings, else one in the data folder, with a password that is drawn once. */
async function withDrawnPassword({ config, terminal }: CommandContext): Promise<Config> {
  const { dashboard, dataFolder } = config
  if (dashboard.passwordFile !== undefined) return config
  await makeDataFolder(dataFolder)
  const secretFile = join(dataFolder, 'dashboard-password')
  const password = await readOrDrawSecret(
    secretFile,
    () => `${randomBytes(18).toString('base64url')}\n`,
    dataFolderHint,
  )
  const passwordFile = join(dataFolder, 'dashboard-password-lines')
  await replacePrivateFile(passwordFile, `${await passwordLine(DRAWN_NAME, 'act', password.trim())}\n`)
  terminal.say(`Sign in as ${DRAWN_NAME}; the password is in ${secretFile}`)
  return { ...config, dashboard: { ...dashboard, passwordFile } }
}

type PasswordOptions = { readonly name: string; readonly role: Role }

const PASSWORD_LENGTH_MIN = 12
const PASSWORD_LENGTH_MAX = 1000

/** Reads a password from standard input, and prints the line of DASHBOARD_PASSWORD_FILE for it. */
export async function runDashboardPassword(context: CommandContext, { name, role }: PasswordOptions): Promise<void> {
  const { terminal } = context
  requireSignInName(name)
  if (process.stdin.isTTY) terminal.say(`Password of ${name}, at least ${PASSWORD_LENGTH_MIN} characters, then Enter:`)
  const password = await readFirstLine()
  if (password.length < PASSWORD_LENGTH_MIN || password.length > PASSWORD_LENGTH_MAX)
    throw new UsageProblem(
      `make a password line: the password has ${password.length} characters, not ${PASSWORD_LENGTH_MIN} to ${PASSWORD_LENGTH_MAX}`,
      {
        hint: `Write it to standard input: openssl rand -base64 18 | tee /dev/stderr | vitalsync dashboard password ${name}`,
      },
    )
  const line = await passwordLine(name, role, password)
  printResult(terminal, ['dashboard password', { line }], line)
}

async function readFirstLine(): Promise<string> {
  for await (const line of createInterface({ input: process.stdin, terminal: false })) return line
  return ''
}
