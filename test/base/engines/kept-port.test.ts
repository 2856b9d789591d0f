import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fastify from 'fastify'
import pg from 'pg'
import { test as base, expect } from 'vitest'
import { freePort, startPostgres } from '../../../src/base/engines/embedded-postgres.ts'
import { readKeptPort } from '../../../src/base/engines/kept-port.ts'
import { listen } from '../../../src/web/listen.ts'

const test = base.extend<{ folder: string; hold: (port: number) => Promise<void> }>({
  folder: async ({}, use) => {
    const folder = await mkdtemp(join(tmpdir(), 'vitalsync-port-'))
    await chmod(folder, 0o755) // as root, the server runs as nobody and must be able to enter
    await use(folder)
    await rm(folder, { recursive: true, force: true })
  },
  /** Another program on a port, until the end of the test. */
  hold: async ({}, use) => {
    const close: (() => void)[] = []
    await use(async (port) => {
      const holder = createServer().listen(port, '127.0.0.1')
      await once(holder, 'listening')
      close.push(() => holder.close())
    })
    for (const each of close) each()
  },
})

const local = { host: '127.0.0.1', action: 'listen', hint: '' }

test('beside another Postgres on the kept port ours starts on another one, and stays there', async ({ folder }) => {
  const neighbour = await startPostgres({ folder: join(folder, 'neighbour'), throwAway: true })
  const ports: number[] = []
  await writeFile(join(folder, 'postgres-port'), String(neighbour.port))
  for (const start of ['first', 'second']) {
    const postgres = await startPostgres({ folder })
    const client = new pg.Client({ connectionString: postgres.adminUrl('postgres') })
    await client.connect()
    const { rows } = await client.query('show data_directory')
    await client.end()
    await postgres.close()
    expect([start, rows[0].data_directory]).toEqual([start, postgres.dataFolder])
    expect(await readFile(join(folder, 'postgres-port'), 'utf8')).toBe(String(postgres.port))
    ports.push(postgres.port)
  }
  await neighbour.close()

  expect(ports[0]).not.toBe(neighbour.port)
  expect(ports[1]).toBe(ports[0])
})

test('a port that is taken after the folder was read is skipped, and reported', async ({ folder, hold }) => {
  const last = await freePort()
  await writeFile(join(folder, 'service-port'), String(last))
  const kept = await readKeptPort(folder, 'service-port')
  await hold(last)
  const app = fastify()
  const port = Number(new URL(await listen(app, { ...local, port: kept.candidates })).port)
  await app.close()

  expect(port).not.toBe(last)
  expect(await kept.keep(port)).toBe(last)
  expect(await readKeptPort(folder, 'service-port')).toMatchObject({ candidates: expect.arrayContaining([port]) })
})

test('the only port there is, and it is taken: the error names it', async ({ hold }) => {
  const port = await freePort()
  await hold(port)
  const app = fastify()

  await expect(listen(app, { ...local, port })).rejects.toThrow(
    `listen on 127.0.0.1, port ${port}: listen EADDRINUSE: address already in use 127.0.0.1:${port}`,
  )
  await app.close()
})

test('near the end of the ports none beyond it is tried', async ({ folder }) => {
  await writeFile(join(folder, 'service-port'), '65534')
  expect((await readKeptPort(folder, 'service-port')).candidates).toEqual([65534, 65535, 0])
  await writeFile(join(folder, 'service-port'), 'seventy')
  expect((await readKeptPort(folder, 'service-port')).candidates).toEqual([0])
  expect((await readKeptPort(folder, 'service-port', 7000)).candidates.slice(0, 2)).toEqual([7000, 7001])
})
