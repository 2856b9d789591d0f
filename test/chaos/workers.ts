import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { TestPipeline } from '../support/test-pipeline.ts'

const program = fileURLToPath(new URL('worker-child.ts', import.meta.url))

export type WorkerProcess = {
  readonly child: ChildProcess
  /** Kills the process at once. */
  kill(): Promise<void>
  /** Suspends the process until `wake`. */
  pause(): void
  wake(): void
  /** Sets the clock of its machine two hours ahead. */
  jumpClock(): void
}

/** Starts a worker process on the engines of a test pipeline; resolves when the worker is ready. `parts`: of the queue, all when absent. */
export async function startWorkerProcess(
  settings: TestPipeline['settings'],
  leaseMs = 2000,
  parts = '',
): Promise<WorkerProcess> {
  const child = spawn(process.execPath, [program, JSON.stringify(settings), String(leaseMs), parts], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  const died = ended.then(() => Promise.reject(new Error('start worker: it ended at once')))
  await Promise.race([once(child.stdout, 'data'), died])
  died.catch(() => undefined) // once the worker is ready, a test may kill it
  return {
    child,
    async kill() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
      await ended
    },
    pause: () => void child.kill('SIGSTOP'),
    wake: () => void child.kill('SIGCONT'),
    jumpClock: () => void child.kill('SIGHUP'),
  }
}
