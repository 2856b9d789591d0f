import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { needProgram } from './programs.ts'
import { entry } from './run-program.ts'

const script = fileURLToPath(new URL('in-terminal.py', import.meta.url))

/** Python makes the pseudo-terminal; Debian's smallest Python has no module for it. */
export function needTerminal(skip: (note: string) => never): void {
  needProgram(skip, 'python3')
  if (spawnSync('python3', ['-c', 'import pty, termios']).status !== 0) skip('no module pty in python3')
}

export type TerminalOptions = {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly columns?: number
  /** When `seen` has been shown, `send` is typed. */
  readonly typed?: { readonly seen: string; readonly send: string }
  /** Is called with each piece as it is shown. */
  readonly onShown?: (piece: string) => void
}

/** Runs `vitalsync` with these words at a pseudo-terminal. */
export const runInTerminal = (words: readonly string[], options: TerminalOptions) =>
  runAtTerminal([process.execPath, entry, ...words], options)

export async function runAtTerminal(command: readonly string[], options: TerminalOptions) {
  const { cwd, env, columns = 80, typed, onShown } = options
  const first = [script, String(columns), typed?.seen ?? '', typed?.send ?? '']
  const child = spawn('python3', [...first, ...command], {
    cwd,
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: cwd, TERM: 'xterm-256color', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let shown = ''
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    shown += piece
    onShown?.(piece)
  })
  const [code] = await once(child, 'close')
  return { code: Number(code), shown: shown.replaceAll('\r\n', '\n') }
}

/** The lines that the terminal showed; a line that was overwritten counts each time. */
export const shownLines = (shown: string): string[] => shown.split(/\n|\r/)
