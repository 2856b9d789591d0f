import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '')

const children = new Set<ChildProcess>()

/** Ends the test processes. If this process is killed, they end on their own: see `end-with-parent.ts`. */
export function endTests(): void {
  for (const child of children) child.kill('SIGKILL')
}

/** Starts Vitest on these files, in an environment that says what to record or which mutants to play. */
export function startTests(files: readonly string[], environment: Readonly<Record<string, string>>): ChildProcess {
  const here = (name: string) => fileURLToPath(new URL(name, import.meta.url))
  const config = here('vitest.config.ts')
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--config', config, ...files]
  const words = ['--import', here('end-with-parent.ts'), ...vitest]
  const child = spawn(process.execPath, words, { cwd: root, env: { ...process.env, ...environment }, stdio: 'ignore' })
  children.add(child)
  child.once('exit', () => children.delete(child))
  return child
}

export async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}
