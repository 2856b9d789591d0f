import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { SECOND } from '../../../src/base/time/units.ts'
import { until } from './until.ts'

/** A process of the fleet that is started again whenever it ends, as systemd or Kubernetes does. */
export type Supervised = {
  readonly name: string
  /** Undefined while it is being started again. */
  pid(): number | undefined
  /** How often it was started. */
  starts(): number
  /** False when there was no process to kill. */
  kill(): Promise<boolean>
  /** Whether the process stood still in between. */
  freeze(forMs: number): Promise<boolean>
  signal(signal: NodeJS.Signals): void
  close(): Promise<void>
}

/** The line of a process's log before each start. */
export const STARTING = '--- starting\n'

/** A process that cannot start because its database is away is not started in a tight loop. */
const RESTART_AFTER_MS = 300
const STOPS_WITHIN_MS = SECOND

export function supervise(name: string, start: () => ChildProcess): Supervised {
  let isClosing = false
  let starts = 0
  let child: ChildProcess | undefined
  const run = (async () => {
    while (!isClosing) {
      starts += 1
      child = start()
      await once(child, 'exit')
      child = undefined
      if (!isClosing) await wait(RESTART_AFTER_MS)
    }
  })()
  const signal = (word: NodeJS.Signals) => void child?.kill(word)
  return {
    name,
    pid: () => child?.pid,
    starts: () => starts,
    signal,
    async kill() {
      const killed = child
      if (!killed) return false
      killed.kill('SIGKILL')
      if (killed.exitCode === null && killed.signalCode === null) await once(killed, 'exit')
      return killed.signalCode === 'SIGKILL'
    },
    async freeze(forMs) {
      const frozen = child
      if (!frozen?.pid) return false
      frozen.kill('SIGSTOP')
      const isStopped = await isStateOf(frozen.pid, 'T')
      await wait(forMs)
      frozen.kill('SIGCONT')
      return isStopped
    },
    async close() {
      isClosing = true
      child?.kill('SIGKILL')
      await run
    },
  }
}

/** A signal takes effect a moment after it was sent. */
async function isStateOf(pid: number, state: string): Promise<boolean> {
  return until(async () => {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).startsWith(state)
  }, STOPS_WITHIN_MS)
}
