import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { sources as entry, ticksOfChildren } from '../../support/run-program.ts'

const folder = mkdtempSync(join(tmpdir(), 'vitalsync-start-'))

/** Loads service, queue, warehouse and dashboard. */
const wholeProgram = new URL('../../../src/app/commands/up-pipeline.ts', import.meta.url).href

const RUNS = 3

/** The sum of several runs, after one that may compile: the system counts whole ticks, and a single run has few. */
function ticksOf(words: readonly string[], env: Record<string, string> = {}): number {
  const run = () => {
    const { status } = spawnSync(process.execPath, words, {
      env: { PATH: '/usr/bin:/bin', VITALSYNC_HOME: folder, ...env },
      stdio: 'ignore',
    })
    expect(status).toBeLessThan(2)
  }
  run()
  const before = ticksOfChildren()
  for (let runs = 0; runs < RUNS; runs += 1) run()
  return ticksOfChildren() - before
}

/** Until `up` says its first word; it is killed then, before it has made anything. */
async function ticksUntilFirstLine(): Promise<number> {
  const env = { PATH: '/usr/bin:/bin', VITALSYNC_HOME: folder }
  const up = spawn(process.execPath, [entry, 'up', '--once'], { env, stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = once(up, 'exit')
  await once(up.stderr, 'data')
  const fields = readFileSync(`/proc/${up.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  up.kill('SIGKILL')
  await ended
  return Number(fields[11]) + Number(fields[12])
}

test('help, short commands and the first line of `up` wait for little of the program', async ({
  skip,
  onTestFinished,
}) => {
  if (process.platform !== 'linux') skip('reads /proc')
  if (process.env['FAKETIME']) skip('a shifted clock takes time of its own')
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const cached = { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '' }
  const whole = ticksOf(['-e', `import('${wholeProgram}')`], cached)
  const help = ticksOf([entry, '--help'])
  const doctor = ticksOf([entry, 'doctor'], { DATABASE_URL: inject('databaseUrl') })
  let firstLines = 0
  for (let runs = 0; runs < RUNS; runs += 1) firstLines += await ticksUntilFirstLine()

  // Measured, quiet and busy: 0.4, 0.8 and 0.55. As ratios to work of the same kind, so that a slow or busy machine says the same.
  expect(help / whole).toBeLessThan(0.6)
  expect(doctor / whole).toBeLessThan(1.2)
  expect(firstLines / whole).toBeLessThan(0.8)
})

test('help loads no package but the parser of commands, and neither settings nor the log', () => {
  const write = `import { registerHooks } from 'node:module'
    registerHooks({ load: (url, context, next) => (process.stderr.write(url + '\\n'), next(url, context)) })`
  const words = ['--import', `data:text/javascript,${encodeURIComponent(write)}`, entry, '--help']
  const { stderr } = spawnSync(process.execPath, words, { env: { PATH: '/usr/bin:/bin' }, encoding: 'utf8' })

  expect(stderr).toMatch(/\/src\/app\/cli\/program\.ts$/m)
  expect(stderr).not.toMatch(/\/config\/|\/base\/log\.ts$/m)
  const packages = stderr.matchAll(/\/node_modules\/([^/]+)\//g).map(([, name]) => name)
  expect([...new Set(packages)]).toEqual(['commander'])
})
