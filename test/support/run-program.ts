import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The program as a user starts it: a process of its own, in a folder and an environment of its own. */
export type Program = {
  readonly pid: number
  stdout(): string
  stderr(): string
  /** Resolves when the output of either stream matches; rejects when the program ends before. */
  said(pattern: RegExp): Promise<RegExpMatchArray>
  kill(signal: NodeJS.Signals): void
  readonly ended: Promise<ProgramEnd>
}

export type ProgramEnd = { code: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string }

export type ProgramOptions = {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
  /** The user to run as, when the tests run as root. */
  readonly uid?: number
  /** Another version of the program. */
  readonly entry?: string
}

const root = fileURLToPath(new URL('../../', import.meta.url))

/** The program from its sources, as a checkout starts it. */
export const sources = join(root, 'src/vitalsync.mjs')

/** The program, as the set-up of a test run has built it. */
export const entry = resolve(root, process.env['TEST_PROGRAM'] ?? sources)

/** The settings that a command on this warehouse needs; nobody listens at its upstream. */
export const settingsFor = (databaseUrl: string) => ({
  DATABASE_URL: databaseUrl,
  UPSTREAM_URL: 'http://localhost:1',
  UPSTREAM_CLIENT_ID: 'client',
  UPSTREAM_CLIENT_SECRET: 'secret',
  TOKEN_KEY: Buffer.alloc(32, 7).toString('base64'),
})

export const startProgram = (words: readonly string[], options: ProgramOptions): Program =>
  start([process.execPath, options.entry ?? entry, ...words], options)

/** A line as it is typed at a shell. */
export const startCommand = (line: string, options: ProgramOptions): Program => start(['sh', '-c', line], options)

function start([file = '', ...words]: readonly string[], { cwd, env = {}, uid }: ProgramOptions): Program {
  const child = spawn(file, words, {
    cwd,
    // The program gets only PATH of the test run's environment.
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: cwd, VITALSYNC_HOME: cwd, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(uid === undefined ? {} : { uid, gid: uid }),
  })
  let stdout = ''
  let stderr = ''
  const watchers = new Set<() => void>()
  const hear = (chunk: Buffer, keep: (text: string) => void) => {
    keep(chunk.toString('utf8'))
    for (const watcher of watchers) watcher()
  }
  child.stdout.on('data', (chunk: Buffer) => hear(chunk, (text) => (stdout += text)))
  child.stderr.on('data', (chunk: Buffer) => hear(chunk, (text) => (stderr += text)))
  const ended = once(child, 'close').then(
    ([code, signal]): ProgramEnd => ({ code, signal, stdout, stderr }), // what `close` is documented to give
  )
  return {
    pid: child.pid ?? 0,
    stdout: () => stdout,
    stderr: () => stderr,
    async said(pattern) {
      const heard = Promise.withResolvers<RegExpMatchArray>()
      const look = () => {
        const match = stdout.match(pattern) ?? stderr.match(pattern)
        if (match) heard.resolve(match)
      }
      watchers.add(look)
      look()
      ended.then(() => heard.reject(new Error(`ended without saying ${pattern}:\n${stdout}\n${stderr}`)))
      return heard.promise.finally(() => watchers.delete(look))
    },
    kill: (signal) => void child.kill(signal),
    ended,
  }
}

export function runProgram(words: readonly string[], options: ProgramOptions): Promise<ProgramEnd> {
  return startProgram(words, options).ended
}

/** Ids of the processes whose command line contains `text`, such as processes that a stopped program left running. */
export async function processesNaming(text: string): Promise<number[]> {
  const ids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const naming = await Promise.all(
    ids.map(async (pid) => (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).includes(text)),
  )
  return ids.filter((_, index) => naming[index])
}

/** The processor time, in ticks of a hundredth of a second, of the children that this process has waited for, and of theirs. */
export function ticksOfChildren(): number {
  const text = readFileSync('/proc/self/stat', 'utf8')
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return Number(fields[13]) + Number(fields[14])
}
