import { execFile } from 'node:child_process'
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { test as base, expect } from 'vitest'
import { readRunning } from '../../src/base/engines/running-file.ts'
import { DAY } from '../../src/base/time/units.ts'
import {
  type Program,
  type ProgramEnd,
  processesNaming,
  startProgram,
  ticksOfChildren,
} from '../support/run-program.ts'

export const isRoot = process.getuid?.() === 0
export const nobody = 65534
export const timeout = 300_000

type Start = (words?: readonly string[], options?: { env?: Record<string, string>; uid?: number }) => Program

type FirstStart = {
  readonly folder: string
  readonly ended: ProgramEnd
  readonly left: readonly number[]
  /** Its processor time, and that of all that it started. */
  readonly ticks: number
}

type Fixtures = {
  home: string
  folder: string
  up: Start
  /** The first start of a file, which ends after its first sync. */
  first: FirstStart
  /** Lays a copy of what the first start left into the folder of the test: the next start there is a second one. */
  startedBefore: () => Promise<void>
}

/** The least that gives each stream its rows: for tests that ask how a start goes, not how large it is. */
const sample = ['--profiles', '1', '--days', '4']

/** `vitalsync up` in a folder for one test. */
export const test = base.extend<Fixtures>({
  first: [
    async ({}, use) => {
      const home = await mkdtemp(join(tmpdir(), 'vitalsync-first-'))
      await chmod(home, 0o755)
      const folder = join(home, 'data')
      const ticksBefore = ticksOfChildren()
      const env = { VITALSYNC_DATA: folder }
      const ended = await startProgram(['up', '--once', '--profiles', '8'], { cwd: home, env }).ended
      const ticks = ticksOfChildren() - ticksBefore
      await use({ folder, ended, ticks, left: await processesNaming(folder) })
      for (const pid of await processesNaming(home)) process.kill(pid, 'SIGKILL')
      await rm(home, { recursive: true, force: true, maxRetries: 5 })
    },
    { scope: 'file' },
  ],
  startedBefore: async ({ first, folder }, use) =>
    use(async () => void (await promisify(execFile)('cp', ['-a', first.folder, folder]))),
  /** A folder for one test that other users may enter; processes that still run in it at the end are stopped. */
  home: async ({}, use) => {
    const home = await mkdtemp(join(tmpdir(), 'vitalsync-up-'))
    await chmod(home, 0o755)
    await use(home)
    for (const pid of await processesNaming(home)) process.kill(pid, 'SIGKILL')
    await rm(home, { recursive: true, force: true, maxRetries: 5 })
  },
  folder: async ({ home }, use) => use(join(home, 'data')),
  up: async ({ home, folder }, use) => {
    const started: Program[] = []
    await use((words = ['--once'], { env = {}, ...options } = {}) => {
      const all = { VITALSYNC_DATA: folder, ...env }
      const program = startProgram(['up', ...sample, ...words], { cwd: home, env: all, ...options })
      started.push(program)
      return program
    })
    for (const program of started) program.kill('SIGKILL')
    await Promise.all(started.map((program) => program.ended))
  },
})

export const isReady = /Working by schedule/

/** At each full hour the day of some people ends, and brings further scores: these days had ended everywhere before the first start. */
const endedBefore = new Date(Date.now() - 2 * DAY)

/** The keys of all scores of the warehouse; and, with their values, the scores of days that cannot get any more. */
export async function scoresIn(folder: string): Promise<{ all: Set<string>; ended: string[] }> {
  const running = await readRunning(folder)
  const client = new pg.Client({ connectionString: running?.databaseUrl ?? 'nothing runs here' })
  await client.connect()
  const { rows } = await client.query<{ at: Date; key: string; value: number }>(
    `select score_date_time as at, concat_ws(' ', external_id, type, score_date_time) as key, value
     from warehouse.scores order by key`,
  )
  await client.end()
  return {
    all: new Set(rows.map(({ key }) => key)),
    ended: rows.flatMap(({ at, key, value }) => (at < endedBefore ? [`${key}: ${value}`] : [])),
  }
}

export async function nothingLeft(folder: string): Promise<void> {
  expect(await processesNaming(folder)).toEqual([])
  const files = await readdir(folder)
  expect(files).not.toContain('lock')
  expect(files).not.toContain('running.json')
}
