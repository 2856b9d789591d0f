import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Line } from '../support/pipeline.ts'

const program = fileURLToPath(new URL('worker-child.ts', import.meta.url))

export type WorkerProcess = {
  readonly child: ChildProcess
  /** Ends it where it stands. */
  kill(): Promise<void>
  /** Stops it where it stands, until it is woken. */
  pause(): void
  wake(): void
}

/** Starts a worker process for the line's engines; resolves when it works. */
export async function startWorkerProcess(settings: Line['settings'], leaseMs = 2000): Promise<WorkerProcess> {
  const child = spawn(process.execPath, [program, JSON.stringify(settings), String(leaseMs)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  const died = ended.then(() => Promise.reject(new Error('start worker: it ended at once')))
  await Promise.race([once(child.stdout, 'data'), died])
  died.catch(() => undefined) // later on it may
  return {
    child,
    async kill() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
      await ended
    },
    pause: () => void child.kill('SIGSTOP'),
    wake: () => void child.kill('SIGCONT'),
  }
}
