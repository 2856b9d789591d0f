import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Command, CommanderError } from 'commander'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { formatTable } from '../../../src/app/terminal/table.ts'
import { cutToColumns, progressBar } from '../../../src/app/terminal/terminal.ts'
import { entry, runProgram, startCommand } from '../../support/run-program.ts'
import { commandsOf, tree } from './reference.ts'

const timeout = 300_000
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'vitalsync-output-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const run = (words: readonly string[], env: Record<string, string> = {}) => runProgram(words, { cwd: folder, env })

/** The help that the parser writes after these words, and the exit code that it asks for. */
async function helpOf(words: readonly string[]) {
  let [said, wrong] = ['', '']
  const program = tree()
  const hear = (command: Command) => {
    command.configureOutput({ writeOut: (text) => (said += text), writeErr: (text) => (wrong += text) })
    command.commands.forEach(hear)
  }
  hear(program)
  const end: unknown = await program.parseAsync([...words, '--help'], { from: 'user' }).catch((error: unknown) => error)
  return { said, wrong, exitCode: end instanceof CommanderError ? end.exitCode : undefined }
}

test('help names no default that says only that nothing was given, and leaves with 0', { timeout }, async () => {
  const { code, stdout, stderr } = await run(['why', '--help'])

  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toBe((await helpOf(['why'])).said)
  expect(stdout).toContain('--stream <name>')
  expect(stdout).not.toMatch(/default: (\[\]|false)/)
})

test('every command has help, with examples', async () => {
  for (const { name, command } of commandsOf(tree())) {
    const { said, wrong, exitCode } = await helpOf(name.split(' '))

    expect([name, exitCode, wrong]).toEqual([name, 0, ''])
    expect(said.replaceAll(/\s+/g, ' ')).toContain(command.description())
    expect(said).toMatch(/\nExamples?:\n {2}.*vitalsync/)
    for (const { long } of command.options) expect(said).toContain(long ?? '')
  }
})

test('nothing that is printed elsewhere than on a terminal has escapes, colours or bars that move', {
  timeout,
}, async () => {
  const { stdout, stderr } = await run(['doctor'], { COLUMNS: '10', NO_COLOR: '1', FORCE_COLOR: '' })
  const help = await run(['--help'], { COLUMNS: '10' })

  for (const text of [stdout, stderr, help.stdout]) {
    expect(text).not.toContain('\u001b')
    expect(text).not.toContain('\r')
  }
})

test('a pipe that is closed by its reader ends the command quietly', { timeout }, async () => {
  const child = spawn(process.execPath, [entry, 'completion', 'bash'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString()
  })
  child.stdout.destroy()
  const [code] = await once(child, 'close')

  expect([code, said]).toEqual([0, ''])
})

test('a full disk behind standard output is reported, with code 1', { timeout }, async () => {
  for (const words of ['completion bash', '--help']) {
    const line = `"${process.execPath}" "${entry}" ${words} > /dev/full`
    const { code, stderr } = await startCommand(line, { cwd: folder }).ended

    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^vitalsync: write standard output: the disk is full\n {2}→ /),
    ])
  }
})

test('a disk that takes only a part of standard output is reported, with code 1', { timeout }, async () => {
  for (const words of ['completion bash', '--help']) {
    // A block has 512 bytes.
    const line = `ulimit -f 1; "${process.execPath}" "${entry}" ${words} > part`
    const { code, stderr } = await startCommand(line, { cwd: folder }).ended

    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^vitalsync: write standard output: the file is too large\n {2}→ /),
    ])
  }
})

test('a line of progress never exceeds the terminal, however narrow', () => {
  const text = `${progressBar(0.5, 20)} 12,345/99,999 profiles · 3 failed · 1,234,567 rows`

  for (const columns of [1, 2, 10, 20, 80])
    expect([...cutToColumns(text, columns)].length).toBeLessThan(Math.max(2, columns))
  expect(cutToColumns(text, 200)).toBe(text)
})

test('tables put numbers to the right and never trail spaces', () => {
  expect(
    formatTable(
      ['stream', 'rows'],
      [
        ['scores', 1234],
        ['tags', 5],
      ],
    ),
  ).toBe('stream   rows\nscores  1,234\ntags        5')
})
