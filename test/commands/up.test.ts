import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { test as base, expect } from 'vitest'
import { readRunning } from '../../src/engines/running.ts'
import { type Program, processesNaming, startProgram } from '../support/program.ts'

const isRoot = process.getuid?.() === 0
const nobody = 65534
const timeout = 180_000

type Start = (words?: readonly string[], options?: { env?: Record<string, string>; uid?: number }) => Program

const test = base.extend<{ home: string; folder: string; up: Start }>({
  /** A folder of the test's own that others may enter; whatever still runs in it afterwards is ended. */
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
      const program = startProgram(['up', '--profiles', '2', ...words], { cwd: home, env: all, ...options })
      started.push(program)
      return program
    })
    for (const program of started) program.kill('SIGKILL')
    await Promise.all(started.map((program) => program.ended))
  },
})

const isReady = /Working by schedule/

async function rowsIn(folder: string): Promise<number> {
  const running = await readRunning(folder)
  const client = new pg.Client({ connectionString: running?.databaseUrl ?? 'nothing runs here' })
  await client.connect()
  const { rows } = await client.query('select count(*)::int as n from warehouse.scores')
  await client.end()
  return rows[0].n
}

async function nothingLeft(folder: string): Promise<void> {
  expect(await processesNaming(folder)).toEqual([])
  const files = await readdir(folder)
  expect(files).not.toContain('lock')
  expect(files).not.toContain('running.json')
}

test('a first start loads the sample people, and a second finds everything still there', { timeout }, async ({
  folder,
  up,
}) => {
  const first = await up().ended
  expect(first).toMatchObject({ code: 0, signal: null })
  expect(first.stdout).toMatch(/Synced 2 profiles/)
  expect(first.stdout).toMatch(/scores +[1-9]/)
  expect(first.stdout).toMatch(/psql "host=127\.0\.0\.1/)
  expect(first.stderr).not.toMatch(/"level"/)
  await nothingLeft(folder)

  const again = startedAt()
  const second = up()
  await second.said(/starting in/)
  expect(again()).toBeLessThan(5000)
  const ended = await second.ended
  expect(ended).toMatchObject({ code: 0 })
  expect(ended.stdout.match(/scores +\S+/)?.[0]).toBe(first.stdout.match(/scores +\S+/)?.[0])
  expect(ended.stderr).not.toMatch(/"level"/)
  await nothingLeft(folder)
})

const startedAt = () => {
  const from = performance.now()
  return () => performance.now() - from
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`${signal} leaves no process and no lock`, { timeout }, async ({ folder, up }) => {
    const program = up([])
    await program.said(isReady)
    expect(await rowsIn(folder)).toBeGreaterThan(0)
    program.kill(signal)
    expect(await program.ended).toMatchObject({ code: 0, signal: null })
    expect(program.stderr()).not.toMatch(/"level"/)
    await nothingLeft(folder)
  })
}

test('Ctrl-C during a first start leaves no process, and the next start works', { timeout }, async ({ folder, up }) => {
  const program = up()
  await program.said(/Postgres is running/)
  program.kill('SIGINT')
  expect(await program.ended).toMatchObject({ code: 0, signal: null })
  await nothingLeft(folder)
  expect(await up().ended).toMatchObject({ code: 0 })
})

test('a kill -9 of everything is forgotten by the next start', { timeout }, async ({ folder, up }) => {
  const program = up([])
  await program.said(isReady)
  const before = await rowsIn(folder)
  for (const pid of [program.pid, ...(await processesNaming(folder))]) process.kill(pid, 'SIGKILL')
  await program.ended

  const next = up([])
  await next.said(isReady)
  expect(await rowsIn(folder)).toBe(before)
})

test('a Postgres that outlived its killed parent is taken back', { timeout }, async ({ folder, up }) => {
  const program = up([])
  await program.said(isReady)
  const before = await rowsIn(folder)
  program.kill('SIGKILL')
  await program.ended
  expect(await processesNaming(folder)).not.toEqual([])

  const next = up([])
  await next.said(isReady)
  expect(await rowsIn(folder)).toBe(before)
  next.kill('SIGTERM')
  expect(await next.ended).toMatchObject({ code: 0 })
  await nothingLeft(folder)
})

test('a kill -9 while Postgres makes its data leaves nothing that a next start trips over', { timeout }, async ({
  folder,
  up,
}) => {
  const program = up()
  await program.said(/starting Postgres/)
  await expect
    .poll(() => readdir(folder).catch(() => []), { timeout: 20_000, interval: 5 })
    .toContainEqual(expect.stringMatching(/^postgres\.new-\d+$/))
  program.kill('SIGKILL')
  await program.ended
  expect(await up().ended).toMatchObject({ code: 0 })
})

test('a taken port is named, with what to do', { timeout }, async ({ folder, up }) => {
  const holder = createServer().listen(0, '127.0.0.1')
  await once(holder, 'listening')
  const address = holder.address()
  const port = typeof address === 'object' && address ? String(address.port) : ''
  const ended = await up(['--once'], { env: { PORT: port } }).ended
  holder.close()
  expect(ended.code).toBe(2)
  expect(ended.stderr).toContain(`listen on 127.0.0.1, port ${port}`)
  expect(ended.stderr).toContain('choose another port')
  expect(ended.stderr).not.toMatch(/^ +at /m)
  await nothingLeft(folder)
})

test('of two starts in one folder one works and the other says so', { timeout }, async ({ folder, up }) => {
  const both = [up([]), up([])]
  const loser = await Promise.race(both.map((program) => program.ended))
  expect(loser.code).toBe(2)
  expect(loser.stderr).toMatch(/vitalsync runs here already \(process \d+\)/)
  const winner = both.find((program) => program.stderr() !== loser.stderr) as Program // one of the two it is
  await winner.said(isReady)
  expect(await rowsIn(folder)).toBeGreaterThan(0)
})

test('many starts over the lock of a killed one: one works, nothing is corrupted', { timeout }, async ({
  folder,
  up,
}) => {
  await mkdir(folder)
  await writeFile(join(folder, 'lock'), '4194304 1')
  const all = Array.from({ length: 4 }, () => up([]))
  const losers: string[] = []
  const settled = Promise.withResolvers<void>()
  for (const program of all) {
    program.ended.then(({ stderr }) => {
      losers.push(stderr)
      if (losers.length === 3) settled.resolve()
    })
  }
  await settled.promise
  for (const stderr of losers) expect(stderr).toMatch(/vitalsync runs here already/)
  await Promise.any(all.map((program) => program.said(isReady)))
  expect(await rowsIn(folder)).toBeGreaterThan(0)
})

test('a data folder that may not be written to is named, with what to do', { timeout }, async ({
  home,
  folder,
  up,
  skip,
}) => {
  if (isRoot) {
    await mkdir(folder, { mode: 0o700 })
  } else {
    if (process.platform === 'win32') skip('needs Unix permissions')
    await mkdir(folder, { mode: 0o000 })
  }
  const ended = await up(['--once'], isRoot ? { uid: nobody } : {}).ended
  expect(ended.code).toBe(2)
  expect(ended.stderr).toContain(folder)
  expect(ended.stderr).toContain('VITALSYNC_DATA')
  expect(ended.stderr).not.toMatch(/^ +at /m)
  await chmod(folder, 0o755)
  expect(await readdir(home)).toEqual(['data'])
})

test('a plain user needs nothing of root', { timeout }, async ({ folder, up, skip }) => {
  if (!isRoot) skip('needs root to become another user; the other tests ran as a plain user')
  await mkdir(folder)
  await chmod(folder, 0o777)
  expect(await up(['--once'], { uid: nobody }).ended).toMatchObject({ code: 0 })
  await nothingLeft(folder)
})

test('root’s closed folder: Postgres lives in /var/lib/vitalsync, and the data is found again', { timeout }, async ({
  home,
  folder,
  up,
  skip,
}) => {
  if (!isRoot) skip('needs root')
  await chmod(home, 0o700)
  const first = await up().ended
  expect(first).toMatchObject({ code: 0 })
  const [, moved = ''] = first.stderr.match(/its files are in (\/var\/lib\/vitalsync\/\w+\/postgres)/) ?? []
  try {
    expect((await stat(join(moved, 'PG_VERSION'))).isFile()).toBe(true)
    await chmod(home, 0o755) // opened later: the data must not seem to be gone
    const second = await up().ended
    expect(second.stdout).toMatch(/ 0 written/)

    await rm(folder, { recursive: true })
    expect(await up().ended).toMatchObject({ code: 0 }) // a new folder under an old name starts anew
  } finally {
    await rm(join(moved, '..'), { recursive: true, force: true })
  }
})

test('a full disk is called a full disk, and space is all that is needed', { timeout }, async ({
  home,
  folder,
  up,
  skip,
}) => {
  if (!isRoot) skip('needs root to mount a small disk')
  await mkdir(folder)
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=60m,mode=755', 'tmpfs', folder])
  if (mounted.status !== 0) skip('may not mount here')
  try {
    const full = await up(['--once'], { env: { HOME: home } }).ended
    expect(full.stderr).toMatch(/the disk is full/)
    expect(full.stderr).not.toMatch(/^ +at /m)
    expect(full.code).toBe(1)
    spawnSync('mount', ['-o', 'remount,size=900m', folder])
    expect(await up().ended).toMatchObject({ code: 0 })
    await nothingLeft(folder)
  } finally {
    for (const pid of await processesNaming(folder)) process.kill(pid, 'SIGKILL')
    spawnSync('umount', ['-l', folder])
  }
})

test('odd languages and time zones of the shell change nothing', { timeout }, async ({ folder, up }) => {
  const env = { LC_ALL: 'tr_TR.UTF-8', LANG: 'nonsense', TZ: 'Pacific/Kiritimati', PGPORT: '1', PGUSER: 'nobody-here' }
  const ended = await up(['--once'], { env }).ended
  expect(ended).toMatchObject({ code: 0 })
  expect(await readFile(join(folder, 'pgpass'), 'utf8')).toMatch(/^127\.0\.0\.1:\d+:vitalsync:vitalsync_reader:/)
})
