import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '')

/** Starts Vitest on these files, in an environment that says what to record or which mutants to play. */
export function startTests(files: readonly string[], environment: Readonly<Record<string, string>>): ChildProcess {
  const config = fileURLToPath(new URL('vitest.config.ts', import.meta.url))
  const words = ['node_modules/vitest/vitest.mjs', 'run', '--config', config, ...files]
  const child = spawn(process.execPath, words, { cwd: root, env: { ...process.env, ...environment }, stdio: 'ignore' })
  process.once('exit', () => child.kill('SIGKILL'))
  return child
}

export async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}
