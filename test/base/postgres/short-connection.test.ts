import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'vitest'
import { applyMigrations } from '../../../src/base/engines/apply-migrations.ts'
import { requireDirectConnection } from '../../../src/base/postgres/direct-connection.ts'
import { withConnection } from '../../../src/base/postgres/short-connection.ts'
import { openQueueEngine } from '../../../src/pipeline/queue/engine.ts'
import { test as base } from '../../support/fixtures.ts'
import { type SilentProxy, startSilentProxy } from '../../support/silent-proxy.ts'

const timeout = 120_000
const silent =
  /^reach Postgres at 127\.0\.0\.1:\d+\/\S+: (it takes the connection and then says nothing|the connection was not made in time)/

const test = base.extend<{ proxy: SilentProxy }>({
  proxy: async ({ database }, use) => {
    const proxy = await startSilentProxy(database)
    await use(proxy)
    await proxy.close()
  },
})

test('a Postgres that falls silent during the start of a command ends the start, and is named', { timeout }, async ({
  proxy,
}) => {
  const frozen = proxy.freezeAfter('set_config')
  const checked = requireDirectConnection(proxy.url, 'DATABASE_URL')

  await expect(checked).rejects.toThrow(silent)
  await expect(checked).rejects.toMatchObject({ hint: expect.stringContaining('DATABASE_URL') })
  await frozen
})

test('a queue’s Postgres that falls silent while its tables are made ends the start, and is named', {
  timeout,
}, async ({ proxy }) => {
  const frozen = proxy.freezeAfter('bullmq')
  const opened = openQueueEngine(proxy.url)

  await expect(opened).rejects.toThrow(silent)
  await expect(opened).rejects.toMatchObject({ hint: expect.stringContaining('QUEUE_URL') })
  await frozen
})

test('a Postgres that falls silent over a migration ends it, and is named', { timeout }, async ({ proxy }) => {
  const folder = await mkdtemp(join(tmpdir(), 'migrations-'))
  await writeFile(join(folder, '0001-first.sql'), 'create table demo.things (n int)')
  const migrate = () => applyMigrations({ databaseUrl: proxy.url, folder: pathToFileURL(`${folder}/`), schema: 'demo' })

  const frozenInTurn = proxy.freezeAfter('pg_try_advisory_lock')
  const inTurn = migrate()
  await frozenInTurn
  const frozenInFile = proxy.freezeAfter('create table demo.things')
  const inFile = migrate()
  await frozenInFile
  proxy.silence('to-server', 'to-client')

  await Promise.all([expect(inTurn).rejects.toThrow(silent), expect(inFile).rejects.toThrow(silent)])
})

test('a connection to a server that does not answer is ended without it', { timeout }, async ({ proxy }) => {
  const options = { connectionString: proxy.url, connectMaxMs: timeout, answerMaxMs: timeout }

  const answer = await withConnection(options, async (client) => {
    const { rows } = await client.query('select 1 as one')
    proxy.silence('to-server', 'to-client')
    return rows
  })

  expect(answer).toEqual([{ one: 1 }])
})
