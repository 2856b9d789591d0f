import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { endOf } from './engines.ts'

/** The dashboard as it is started by its command, in a process of its own. */
export async function startDashboardProcess(settings: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, ['src/vitalsync.mjs', 'dashboard', '--port', '0', '--json'], {
    env: { ...process.env, ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  for await (const line of createInterface({ input: child.stdout })) {
    const { url } = JSON.parse(line) as { url?: string }
    if (url) return { url, close: () => endOf(child) }
  }
  throw new Error('start dashboard: it ended before it told its address')
}
