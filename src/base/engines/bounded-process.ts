import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { endsWithin } from '../sleep.ts'

/**
 * Runs a program to its end, and kills it when it takes longer than `timeoutMs`: its code is null then. A process that it started,
 * and that lives on, is not waited for.
 */
export async function runProgram(
  program: string,
  words: readonly string[],
  { timeoutMs, ...options }: Pick<SpawnOptions, 'uid' | 'gid' | 'env'> & { readonly timeoutMs: number },
) {
  const bound = { timeout: timeoutMs, killSignal: 'SIGKILL' } as const
  const child = spawn(program, words, { ...options, ...bound, stdio: ['ignore', 'pipe', 'pipe'] })
  const output: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => output.push(chunk))
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
    child.once('exit', (_, signal) => {
      if (signal !== null) resolve(null)
    })
  })
  return { code, output: Buffer.concat(output).toString('utf8') }
}

/** A signal, and how long the process has to end by it. */
type StopStep = readonly [signal: NodeJS.Signals, waitMs: number]

/** Ends a process by one signal after the other, as far as it needs them. */
export async function stopProcess(child: ChildProcess, steps: readonly StopStep[]): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  for (const [signal, waitMs] of steps) {
    child.kill(signal)
    if (await endsWithin(gone, waitMs)) return
  }
}
