import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, test as base, beforeAll, beforeEach, expect } from 'vitest'
import { needTerminal, runInTerminal, shownLines } from '../../support/in-terminal.ts'
import { runProgram } from '../../support/run-program.ts'
import { type CommandWorld, openCommandWorld } from '../commands/command-world.ts'

/** The same commands at a terminal, at a dumb terminal, and without a terminal. */
const timeout = 300_000
const esc = '\u001b'
/** Clears a line. */
const back = `${esc}[2K`
const red = `${esc}[31m`
const green = `${esc}[32m`
/** A synced warehouse. Each test has a copy; upstream is shared. */
let synced: CommandWorld
let world: CommandWorld
let folder: string

const test = base.extend<{ terminal: undefined }>({
  terminal: [
    async ({ skip }, use) => {
      needTerminal(skip)
      await use(undefined)
    },
    { auto: true },
  ],
})

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'vitalsync-terminal-'))
  synced = await openCommandWorld({ profiles: 2, days: 5 })
  await synced.json('profiles', 'discover')
  await synced.json('sync')
}, timeout)
afterAll(async () => {
  await synced.close()
  await rm(folder, { recursive: true, force: true })
}, timeout)
beforeEach(async () => {
  world = await synced.copy()
}, timeout)
afterEach(() => world.close(), timeout)

const atTerminal = (words: readonly string[], more: Partial<Parameters<typeof runInTerminal>[1]> = {}) =>
  runInTerminal(words, { cwd: world.folder, ...more, env: { ...world.env, ...more.env } })

test('a terminal is shown a bar that moves on one line, and states in colour', { timeout }, async () => {
  const sync = await atTerminal(['sync'])
  const runs = await atTerminal(['runs'])
  const wrong = await atTerminal(['statu'])

  expect([sync.code, runs.code, wrong.code]).toEqual([0, 0, 2])
  expect(sync.shown).toMatch(/░.* profiles/)
  expect(sync.shown).toContain(`\r${back}`)
  expect(sync.shown).not.toContain('░\n')
  expect(runs.shown).toContain(`${green}done`)
  expect(wrong.shown).toContain(`${red}vitalsync:`)
})

test('NO_COLOR takes the colours and leaves the bar; a dumb terminal gets plain lines', { timeout }, async () => {
  const plain = await atTerminal(['runs'], { env: { NO_COLOR: '1' } })
  const dumb = await atTerminal(['sync'], { env: { TERM: 'dumb' } })

  expect([plain.code, plain.shown.includes(esc)]).toEqual([0, false])
  expect([dumb.code, dumb.shown.includes(esc), dumb.shown.includes('\r')]).toEqual([0, false, false])
  expect(dumb.shown).toContain('sync done')
})

test('--json is never coloured, and neither is a pipe, even where colours are forced', { timeout }, async () => {
  const json = await atTerminal(['runs', '--json'])
  const piped = await runProgram(['runs'], { cwd: world.folder, env: { ...world.env, FORCE_COLOR: '1' } })

  for (const line of json.shown.trim().split('\n')) expect(JSON.parse(line)).toMatchObject({ state: 'done' })
  expect(piped.stdout).toContain('done')
  expect(piped.stdout + piped.stderr).not.toContain(esc)
})

test('at a terminal of ten columns no progress is wider than it, and every command works', { timeout }, async () => {
  const sync = await atTerminal(['sync'], { columns: 10 })
  const help = await atTerminal(['plan', '--help'], { columns: 10 })
  expect([sync.code, help.code]).toEqual([0, 0])
  const bars = shownLines(sync.shown)
    .map((line) => line.replaceAll(back, ''))
    .filter((line) => /[█░]/.test(line))
  expect(bars.length).toBeGreaterThan(0)
  for (const bar of bars) expect([...bar].length).toBeLessThan(10)
  expect(help.shown).toContain('--from')
})

test('Ctrl-C at the keyboard drains: the command says so and leaves with 1', { timeout }, async () => {
  world.sandbox.faults.set([{ name: 'latency', rate: 1, settings: { delayMs: 400 } }])
  const stopped = await atTerminal(['backfill', '--from', '2015-01-01', '--to', '2018-01-01'], {
    typed: { seen: 'working', send: '\u0003' },
  })
  world.sandbox.faults.set([])

  expect(stopped.code).toBe(1)
  expect(stopped.shown).toContain('stopping')
  expect(stopped.shown).toContain('The same command carries on.')
})

test('erase asks at a terminal, and does nothing unless the answer is yes', { timeout }, async () => {
  const [someone] = await world.json('profiles', 'list', '--limit', '1')
  const { externalId } = someone as { externalId: string } // other tests check the schema
  const typed = { seen: 'Type yes:', send: 'no\r' }
  const kept = await atTerminal(['profiles', 'erase', externalId], { typed })
  const [still] = await world.json('profiles', 'show', externalId)

  expect(kept.code).toBe(2)
  expect(kept.shown).toContain('Nothing was done')
  expect(still).toMatchObject({ externalId })
})
