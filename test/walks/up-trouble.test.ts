import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect } from 'vitest'
import { type ProgramEnd, processesNaming } from '../support/run-program.ts'
import { isReady, isRoot, nobody, nothingLeft, scoresIn, test, timeout } from './up-world.ts'

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

test('many starts over the lock of a killed one: one works, the others say so, nothing is corrupted', {
  timeout,
}, async ({ folder, up }) => {
  await mkdir(folder)
  await writeFile(join(folder, 'lock'), '4194304 1')
  const all = Array.from({ length: 4 }, () => up([]))
  const losers: ProgramEnd[] = []
  const settled = Promise.withResolvers<void>()
  for (const program of all) {
    program.ended.then((loser) => {
      losers.push(loser)
      if (losers.length === 3) settled.resolve()
    })
  }
  await settled.promise
  for (const { code, stderr } of losers)
    expect([code, stderr]).toEqual([2, expect.stringMatching(/vitalsync runs here already \(process \d+\)/)])
  await Promise.any(all.map((program) => program.said(isReady)))
  expect((await scoresIn(folder)).all.size).toBeGreaterThan(0)
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

test('a plain user needs nothing of root, and odd languages and time zones of the shell change nothing', {
  timeout,
}, async ({ folder, up }) => {
  const env = { LC_ALL: 'tr_TR.UTF-8', LANG: 'nonsense', TZ: 'Pacific/Kiritimati', PGPORT: '1', PGUSER: 'nobody-here' }
  await mkdir(folder)
  if (isRoot) await chown(folder, nobody, nobody)
  const ended = await up(['--once'], isRoot ? { env, uid: nobody } : { env }).ended
  expect(ended).toMatchObject({ code: 0 })
  expect(await readFile(join(folder, 'pgpass'), 'utf8')).toMatch(/^127\.0\.0\.1:\d+:vitalsync:vitalsync_reader:/)
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
    await chmod(home, 0o755) // opened to other users later: the data must still be found
    const second = await up().ended
    expect(second.stdout).toMatch(/ 0 written/)

    await rm(folder, { recursive: true })
    expect(await up().ended).toMatchObject({ code: 0 }) // a new folder of the same name starts empty
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
    // Too small for the cluster, for what is written at its first use, and for the logs of the sample people.
    for (const size of ['60m', '72m', '110m']) {
      spawnSync('mount', ['-o', `remount,size=${size}`, folder])
      const full = await up(['--once', '--profiles', '200', '--days', '60'], { env: { HOME: home } }).ended
      expect(full.stderr, size).toMatch(/the disk is full/)
      expect(full.stderr).not.toMatch(/^ +at /m)
      expect(full.code).toBe(1)
    }
    spawnSync('mount', ['-o', 'remount,size=900m', folder])
    expect(await up().ended).toMatchObject({ code: 0 })
    await nothingLeft(folder)
  } finally {
    for (const pid of await processesNaming(folder)) process.kill(pid, 'SIGKILL')
    spawnSync('umount', ['-l', folder])
  }
})

test('a Postgres of ours that starts slowly is waited for and named, and no setting is blamed', { timeout }, async ({
  folder,
  up,
}) => {
  const program = up()
  const pidFile = join(folder, 'postgres', 'postmaster.pid')
  const pidOf = async () => Number((await readFile(pidFile, 'utf8').catch(() => '')).split('\n')[0])
  await expect.poll(pidOf, { timeout: 120_000, interval: 1 }).toBeGreaterThan(0)
  const pid = await pidOf()
  process.kill(pid, 'SIGSTOP')
  await program.said(/our own Postgres is still starting, since \d+ s/)
  process.kill(pid, 'SIGCONT')
  const ended = await program.ended

  expect(ended).toMatchObject({ code: 0 })
  expect(ended.stderr).not.toMatch(/DATABASE_URL|unexpected/)
})
