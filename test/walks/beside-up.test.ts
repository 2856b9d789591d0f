import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { test as base, expect } from 'vitest'
import { jsonResultSchemas } from '../../src/app/results/json-results.ts'
import { joinLocalEngines } from '../../src/base/engines/local-engines.ts'
import { type Program, processesNaming, startProgram } from '../support/run-program.ts'

const timeout = 300_000
const execFileAsync = promisify(execFile)

const test = base.extend<{ folder: string; start: (...words: string[]) => Program }>({
  folder: async ({}, use) => {
    const home = await mkdtemp(join(tmpdir(), 'vitalsync-beside-'))
    await use(join(home, 'data'))
    for (const pid of await processesNaming(home)) process.kill(pid, 'SIGKILL')
    await rm(home, { recursive: true, force: true, maxRetries: 5 })
  },
  start: async ({ folder }, use) => {
    const started: Program[] = []
    await use((...words) => {
      const program = startProgram(words, {
        cwd: join(folder, '..'),
        env: { VITALSYNC_DATA: folder, LOG_LEVEL: 'silent' },
      })
      started.push(program)
      return program
    })
    for (const program of started) program.kill('SIGKILL')
    await Promise.all(started.map((program) => program.ended))
  },
})

test('commands join an `up` that runs: its database, its sandbox, and its worker does the work', { timeout }, async ({
  start,
  folder,
}) => {
  const up = start('up', '--profiles', '1', '--days', '4')
  await up.said(/Working by schedule/)
  const sync = await start('sync', '--json').ended
  const status = await start('status', '--json').ended
  const search = await start('profiles', 'discover', '--json').ended
  const exposed = await secretsInCommandLines(folder)
  up.kill('SIGINT')
  const ended = await up.ended

  expect(sync.stderr).toMatch(/handed to \d+ running worker/)
  expect(jsonResultSchemas.sync.parse(JSON.parse(sync.stdout))).toMatchObject({ state: 'done', done: 1 })
  expect(JSON.parse(status.stdout)).toMatchObject({ profiles: { active: 1 }, queue: { workers: 1 } })
  expect(JSON.parse(search.stdout)).toMatchObject({ found: 1, added: 0 })
  expect([sync.code, status.code, search.code, ended.code]).toEqual([0, 0, 0, 0])
  expect(exposed).toEqual([])
})

/** The processes of this machine whose command line, which every user may read, holds a secret of the folder. */
async function secretsInCommandLines(folder: string): Promise<string[]> {
  const texts = await Promise.all(
    ['secrets.json', 'postgres-password', 'sandbox-secret'].map((name) => readFile(join(folder, name), 'utf8')),
  )
  const secrets = texts.flatMap((text) => text.match(/[\w+/=-]{30,}/g) ?? [])
  expect(secrets).toHaveLength(6)
  const lines = (await execFileAsync('ps', ['-eo', 'args'], { maxBuffer: 64 * 1024 * 1024 })).stdout.split('\n')
  return lines.filter((line) => secrets.some((secret) => line.includes(secret)))
}

test('commands on their own start the engines, share them with each other, and leave nothing running', {
  timeout,
}, async ({ start, folder }) => {
  const first = [start('runs'), start('profiles', 'add', 'ada'), start('gaps'), start('status', '--json')]
  const ended = await Promise.all(first.map((program) => program.ended))
  const listed = await start('profiles', 'list', '--json').ended

  expect(ended.map(({ code }) => code)).toEqual(first.map(() => 0))
  // A command that finds no data says what it makes, and no command says anything else.
  const said = `DATABASE_URL is not set, and there is no data yet: making a Postgres in ${folder} …\n`
  const remarks = [...ended, listed].map(({ stderr }) => stderr)
  expect(remarks.filter((text) => text.startsWith(said))).toHaveLength(1)
  const others = remarks.map((text) =>
    text.replace(said, '').replace(/^ +our own Postgres is still starting.*\n|^Nobody is known.*\n/gm, ''),
  )
  expect(others.filter((text) => text !== '')).toEqual([])
  expect(JSON.parse(listed.stdout)).toMatchObject({ externalId: 'ada', state: 'new' })
  expect(await processesNaming(folder)).toEqual([])
  expect(await readdir(folder)).not.toContain('lock')
})

test('the command that started the engines waits for the commands that joined before stopping them', {
  timeout,
}, async ({ start, folder }) => {
  const host = await joinLocalEngines(folder)
  await writeFile(join(folder, 'sandbox-people'), '2 20') // less than the default: the second command must work, but not for long
  const guest = start('sync')
  await guest.said(/derives scores/)
  const closed = host.close()
  const ended = await guest.ended
  await closed

  expect([ended.code, ended.stderr]).toEqual([0, expect.stringContaining('working')])
})

test('a reader whose session has the name of a joined command delays no end', { timeout: 60_000 }, async ({
  folder,
}) => {
  const host = await joinLocalEngines(folder)
  const [server, port, database, user, password] = (await readFile(join(folder, 'pgpass'), 'utf8')).trim().split(':')
  const reader = new pg.Client({
    connectionString: `postgres://${user}:${password}@${server}:${port}/${database}`,
    application_name: 'vitalsync joined',
  })
  const ended = new Promise<string>((resolve) => reader.on('error', ({ message }) => resolve(message)))
  await reader.connect()

  await host.close()

  expect(await ended).toContain('terminating connection due to administrator command')
})
