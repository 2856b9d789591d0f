import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { ticksOfChildren } from '../support/processor-time.ts'
import { entry } from '../support/run-program.ts'

const folder = mkdtempSync(join(tmpdir(), 'vitalsync-start-'))

const RUNS = 6

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

test('help and short commands take little more than Node itself', ({ skip, onTestFinished }) => {
  if (process.platform !== 'linux') skip('reads /proc')
  if (process.env['FAKETIME']) skip('a shifted clock takes time of its own')
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const bare = ticksOf(['-e', '0'])
  const help = ticksOf([entry, '--help'])
  const doctor = ticksOf([entry, 'doctor'], { DATABASE_URL: inject('databaseUrl') })

  // Measured: Node 0.04 s, help 0.15 s, doctor 0.35 s. As ratios, so that a slow machine says the same.
  expect(help / bare).toBeLessThan(9)
  expect(doctor / bare).toBeLessThan(22)
})
