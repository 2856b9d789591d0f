import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const script = fileURLToPath(new URL('in-terminal.py', import.meta.url))
const entry = fileURLToPath(new URL('../../src/vitalsync.mjs', import.meta.url))

/** Why no terminal can be had here, if none can. */
export const noTerminal: string | undefined =
  spawnSync('python3', ['-c', 'import pty, termios']).status === 0 ? undefined : 'no python3 to make a terminal with'

export type InTerminal = {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly columns?: number
  /** When this has been shown, that is typed. */
  readonly typed?: { readonly seen: string; readonly send: string }
}

/** Runs `vitalsync` with these words at a terminal, as a person would see it. */
export const runInTerminal = (words: readonly string[], options: InTerminal) =>
  runAtTerminal([process.execPath, entry, ...words], options)

export async function runAtTerminal(command: readonly string[], options: InTerminal) {
  const { cwd, env, columns = 80, typed } = options
  const first = [script, String(columns), typed?.seen ?? '', typed?.send ?? '']
  const child = spawn('python3', [...first, ...command], {
    cwd,
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: cwd, TERM: 'xterm-256color', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let shown = ''
  child.stdout.on('data', (chunk: Buffer) => {
    shown += chunk.toString('utf8')
  })
  const [code] = await once(child, 'close')
  return { code: Number(code), shown: shown.replaceAll('\r\n', '\n') }
}

/** What `vitalsync` would be told here, as lines; a line taken back and written anew counts each time. */
export const linesOf = (shown: string): string[] => shown.split(/\n|\r/)
