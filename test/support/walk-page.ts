import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { processesNaming } from './run-program.ts'

/** Types what a page says as a reader would, and compares what comes with what the page shows. */
export const root = fileURLToPath(new URL('../../', import.meta.url)).replace(/\/$/, '')

export type Block = {
  readonly language: string
  /** The word after the language, which a forge does not show: the terminal in which the block is typed. */
  readonly terminal: string
  readonly text: string
  readonly line: number
}

/** The fenced blocks of a page, in order. */
export function blocksOf(page: string): Block[] {
  return [...page.matchAll(/^```(\w+)(?: (\w+))?\n([\s\S]*?)^```$/gm)].map(
    ({ 1: language = '', 2: terminal = '', 3: text = '', index }) => ({
      language,
      terminal,
      text,
      line: page.slice(0, index).split('\n').length,
    }),
  )
}

/** The part of a page below a heading of the second level. */
export const sectionOf = (page: string, title: string): string =>
  page.split(/^## /m).find((text) => text.startsWith(`${title}\n`)) ?? ''

/**
 * The lines of an output, as a page shows them: `…` stands for a part that differs, in a line of its own for any number of lines.
 * The width of gaps differs with the values beside them.
 */
export function patternOf(shown: string): string {
  const lines = shown.trimEnd().split('\n')
  return lines.map((line) => (line.trim() === '…' ? '(?:[^\\n]*\\n)*?' : `${patternOfLine(line)} *\\n`)).join('')
}

const patternOfLine = (line: string) =>
  line
    .trimEnd()
    .split(/(…| +)/)
    .map((part) =>
      part === '…' ? '.*?' : part.startsWith(' ') ? ' +' : part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'),
    )
    .join('')

export type Desk = {
  readonly folder: string
  readonly env: Readonly<Record<string, string>>
  /** Goes through the page from its first block to its last. */
  walk(page: string): Promise<void>
  close(): Promise<void>
}

/**
 * A folder to begin in, with Node, and `npx` that starts this checkout without the second that npm takes. The package is there as
 * after `npm i`: its exports are the sources. `npm run package` installs it for real.
 */
export async function openDesk(more: Readonly<Record<string, string>> = {}): Promise<Desk> {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-walk-'))
  await chmod(folder, 0o755) // As root, Postgres runs as nobody and must be able to enter.
  const bin = join(folder, 'bin')
  await mkdir(bin)
  await symlink(process.execPath, join(bin, 'node'))
  const npx = `#!/bin/sh\nshift\nexec "${process.execPath}" "${root}/src/vitalsync.mjs" "$@"\n`
  await writeFile(join(bin, 'npx'), npx, { mode: 0o755 })
  await installSources(folder)
  const path = `${bin}:${process.env['PATH'] ?? ''}`
  const env = { PATH: path, HOME: folder, VITALSYNC_HOME: folder, ...more }
  const terminals = new Map<string, Terminal>()
  const terminalOf = (name: string) => {
    const known = terminals.get(name) ?? openTerminal(folder, env)
    terminals.set(name, known)
    return known
  }
  return {
    folder,
    env,
    async walk(page) {
      const blocks = blocksOf(page)
      for (const [index, block] of blocks.entries()) {
        const next = blocks[index + 1]
        if (block.language === 'js') await save(folder, block)
        if (block.language !== 'sh') continue
        await typeBlock(terminalOf(block.terminal), block, next?.language === 'text' ? next.text : undefined)
      }
    },
    async close() {
      await Promise.all([...terminals.values()].map((terminal) => terminal.close()))
      for (const pid of await processesNaming(folder)) process.kill(pid, 'SIGKILL')
      await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** The exports of the package lead to the sources, which Node runs as they are where they lie. */
async function installSources(folder: string): Promise<void> {
  const text = await readFile(join(root, 'package.json'), 'utf8')
  const installed = join(folder, 'node_modules/vitalsync')
  const manifest: { exports: Record<string, { default?: string }> } = JSON.parse(text)
  await mkdir(installed, { recursive: true })
  await writeFile(join(installed, 'package.json'), text)
  for (const { default: compiled = '' } of Object.values(manifest.exports)) {
    if (!compiled) continue
    await mkdir(dirname(join(installed, compiled)), { recursive: true })
    const source = compiled.replace('./dist/', '').replace(/\.js$/, '.ts')
    await symlink(join(root, source), join(installed, compiled))
  }
}

/** Code whose first line is a comment with the name of its file. */
async function save(folder: string, { text, line }: Block): Promise<void> {
  const [, name] = /^\/\/ ([\w.-]+)\n/.exec(text) ?? []
  if (!name) throw new Error(`line ${line}: the code begins with no name of a file`)
  await writeFile(join(folder, name), text)
}

/** In a terminal with a name the block goes on running, once it has printed what the page shows. */
async function typeBlock(terminal: Terminal, block: Block, shown: string | undefined): Promise<void> {
  const place = `line ${block.line}: ${block.text}`
  if (block.terminal) return terminal.run(block.text, new RegExp(`^${patternOf(shown ?? '')}`)).then(() => undefined)
  const { output, code } = await terminal.run(block.text)
  assert.equal(code, 0, `${place}\nends with ${code}:\n${output}`)
  if (shown !== undefined) assert.match(output, new RegExp(`^${patternOf(shown)}$`), `${place}\nprints:\n${output}`)
}

type Terminal = {
  /** Runs the lines to their end, or until the pattern came. */
  run(lines: string, until?: RegExp): Promise<{ output: string; code: number }>
  close(): Promise<void>
}

/** How long the programs of a terminal may take to end by SIGTERM. */
const CLOSE_MAX_MS = 20_000

/** One shell, so that its variables and its background jobs stay from block to block. */
function openTerminal(folder: string, env: Readonly<Record<string, string>>): Terminal {
  const shell = spawn('bash', ['--norc', '-s'], { cwd: folder, env: { ...env }, detached: true })
  const ended = once(shell, 'close')
  let heard = ''
  let look: (() => void) | undefined
  for (const stream of [shell.stdout, shell.stderr]) {
    stream.setEncoding('utf8')
    stream.on('data', (chunk: string) => {
      heard += chunk
      look?.()
    })
  }
  let blocks = 0
  return {
    async run(lines, until) {
      blocks += 1
      const mark = `end-of-block-${blocks}`
      const file = join(folder, 'bin', `block-${process.pid}-${shell.pid}-${blocks}.sh`)
      await writeFile(file, `trap 'failed=$?' ERR\n${lines}`)
      const { promise, resolve, reject } = Promise.withResolvers<{ output: string; code: number }>()
      heard = ''
      look = () => {
        const [whole, code] = new RegExp(`\\n?${mark} (\\d+)\\n`).exec(heard) ?? []
        if (until?.test(heard)) resolve({ output: heard, code: 0 })
        else if (whole && until) reject(new Error(`ended without printing ${until}:\n${heard}`))
        else if (whole) resolve({ output: `${heard.replace(whole, '').trim()}\n`, code: Number(code) })
      }
      // The output of both streams in one, as at a terminal; no block reads the blocks after it.
      shell.stdin.write(`exec 2>&1; failed=0; . '${file}' < /dev/null; printf '\\n${mark} %s\\n' "$failed"\n`)
      return promise.finally(() => (look = undefined))
    },
    async close() {
      endGroup(shell, 'SIGTERM')
      await Promise.race([ended, once(AbortSignal.timeout(CLOSE_MAX_MS), 'abort')])
      endGroup(shell, 'SIGKILL')
    },
  }
}

function endGroup({ pid = 0 }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal)
  } catch {
    // The group has ended.
  }
}
