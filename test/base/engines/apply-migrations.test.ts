import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import pg from 'pg'
import { expect } from 'vitest'
import { applyMigrations } from '../../../src/base/engines/apply-migrations.ts'
import { soon, test } from '../../support/fixtures.ts'

async function folderOf(files: Record<string, string>): Promise<URL> {
  const folder = await mkdtemp(join(tmpdir(), 'migrations-'))
  for (const [name, sql] of Object.entries(files)) await writeFile(join(folder, name), sql)
  return pathToFileURL(`${folder}/`)
}

const two = {
  '0001-first.sql': 'create table demo.things (n int)',
  '0002-second.sql': 'insert into demo.things values (1)',
}

const indexed = { ...two, '0003-index.sql': 'create index concurrently if not exists things_n on demo.things (n)' }

async function count(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query('select count(*)::int as n from demo.things')
  await client.end()
  return rows[0].n
}

test('eight processes that migrate at once apply each file exactly once', async ({ database }) => {
  const folder = await folderOf(indexed)

  const results = await Promise.all(
    Array.from({ length: 8 }, () => applyMigrations({ databaseUrl: database, folder, schema: 'demo' })),
  )

  expect(results.flatMap((result) => result.applied).sort()).toEqual([
    '0001-first.sql',
    '0002-second.sql',
    '0003-index.sql',
  ])
  expect(await count(database)).toBe(1)
})

test('a file that fails leaves nothing of itself and names itself', async ({ database }) => {
  const folder = await folderOf({ ...two, '0003-broken.sql': 'insert into demo.things values (2); select nonsense()' })

  await expect(applyMigrations({ databaseUrl: database, folder, schema: 'demo' })).rejects.toThrow(
    /demo\/0003-broken\.sql/,
  )

  expect(await count(database)).toBe(1)
})

test('a file that was changed after it was applied is refused', async ({ database }) => {
  await applyMigrations({ databaseUrl: database, folder: await folderOf(two), schema: 'demo' })
  const changed = await folderOf({ ...two, '0002-second.sql': 'insert into demo.things values (9)' })

  await expect(applyMigrations({ databaseUrl: database, folder: changed, schema: 'demo' })).rejects.toThrow(
    /was changed after/,
  )
})

test('tables of a newer version are left as they are, and refused where its migration says that they will not do', async ({
  database,
}) => {
  const said: string[] = []
  const { '0001-first.sql': first, '0002-second.sql': second } = two
  const migrate = async (files: Record<string, string>) =>
    applyMigrations({
      databaseUrl: database,
      folder: await folderOf(files),
      schema: 'demo',
      say: (text) => said.push(text),
    })
  await migrate(two)

  expect(await migrate({ '0001-first.sql': first })).toEqual({ applied: [] })
  expect(said).toEqual(['The tables are of a newer version (0002-second.sql): they stay as they are.'])

  await migrate({ ...two, '0003-third.breaking.sql': second })
  await expect(migrate(two)).rejects.toThrow(/cannot work on them \(0003-third\.breaking\.sql\)/)
  expect(await count(database)).toBe(2)
})

/** Runs `use` while a reader of the table has not ended its transaction. */
const whileRead = (url: string, use: (end: () => Promise<unknown>) => Promise<void>) =>
  whileOpen(url, 'select * from demo.things', use)

async function whileOpen(url: string, statement: string, use: (end: () => Promise<unknown>) => Promise<void>) {
  const holder = new pg.Client({ connectionString: url })
  await holder.connect()
  try {
    await holder.query(`begin; ${statement}`)
    await use(() => holder.query('commit'))
  } finally {
    await holder.end()
  }
}

async function isMigrationWaiting(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rowCount } = await client.query(
    `select from pg_stat_activity
     where application_name = 'vitalsync migrate' and wait_event_type = 'Lock' and datname = current_database()`,
  )
  await client.end()
  return rowCount === 1
}

const wider = { ...two, '0003-wider.sql': 'alter table demo.things add column more int' }

test('a migration that waits for a lock lets readers pass, and is applied when the lock is free', async ({
  database,
}) => {
  const schema = { databaseUrl: database, schema: 'demo' }
  await applyMigrations({ ...schema, folder: await folderOf(two) })
  const folder = await folderOf(wider)
  await whileRead(database, async (end) => {
    const migrated = applyMigrations({ ...schema, folder, locks: { timeoutMs: 500, pauseMs: 50, triesMax: 10_000 } })
    await expect.poll(() => isMigrationWaiting(database), soon).toBe(true)

    // Behind a migration that waits without limit this would wait for ever.
    expect(await count(database)).toBe(1)
    await end()
    expect(await migrated).toEqual({ applied: ['0003-wider.sql'] })
  })
})

test('a migration that gets no lock in all its tries says so and changes nothing', async ({ database }) => {
  const schema = { databaseUrl: database, schema: 'demo' }
  await applyMigrations({ ...schema, folder: await folderOf(two) })
  const folder = await folderOf(wider)
  await whileRead(database, async () => {
    const locks = { timeoutMs: 50, pauseMs: 1, triesMax: 3 }
    await expect(applyMigrations({ ...schema, folder, locks })).rejects.toThrow(/0003-wider\.sql: .*lock timeout/)
    expect(await count(database)).toBe(1)
  })
})

test('a migration that waits long says whose lock it waits for, each holder once', async ({ database }) => {
  const schema = { databaseUrl: database, schema: 'demo' }
  await applyMigrations({ ...schema, folder: await folderOf(two) })
  const locks = { timeoutMs: 200, pauseMs: 1, triesMax: 10_000, sayAfterMs: 300 }
  const turn = `select pg_advisory_lock(hashtextextended('vitalsync migrate demo', 0))`
  const widest = { ...wider, '0004-widest.sql': 'alter table demo.things add column most int' }
  const said: string[] = []
  const waiting = async (files: typeof two, hold: string) => {
    const folder = await folderOf(files)
    said.length = 0
    let migrated: Promise<unknown> | undefined
    await whileOpen(database, hold, async (end) => {
      migrated = applyMigrations({ ...schema, folder, locks, say: (text) => said.push(text) })
      await expect.poll(() => said, soon).toHaveLength(1)
      await end()
    })
    await migrated
    return said
  }
  const holder =
    /^Waiting for a lock that session \d+ of role \w+, idle in transaction since \d+ s, holds. To end that session: select pg_terminate_backend\(\d+\)$/

  expect(await waiting(wider, turn)).toEqual([expect.stringMatching(holder)])
  expect(await waiting(widest, 'select * from demo.things')).toEqual([expect.stringMatching(holder)])
})

test('an index is made while others write, by the next process if one dies over it', async ({ database }) => {
  const schema = { databaseUrl: database, schema: 'demo' }
  await applyMigrations({ ...schema, folder: await folderOf(two) })
  const folder = await folderOf(indexed)
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  const indexes = async () =>
    (await client.query(`select indisvalid as valid from pg_index where indrelid = 'demo.things'::regclass`)).rows
  await whileOpen(database, 'insert into demo.things values (3)', async (end) => {
    const killed = expect(applyMigrations({ ...schema, folder })).rejects.toThrow(/0003-index\.sql/)
    await expect.poll(() => isMigrationWaiting(database), soon).toBe(true)
    const next = applyMigrations({ ...schema, folder })

    await client.query('insert into demo.things values (2)')
    await client.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where application_name = 'vitalsync migrate' and wait_event_type = 'Lock' and datname = current_database()`,
    )
    await killed
    expect(await indexes()).toEqual([{ valid: false }])
    await end()
    expect(await next).toEqual({ applied: ['0003-index.sql'] })
  })
  expect(await indexes()).toEqual([{ valid: true }])
  expect(await applyMigrations({ ...schema, folder })).toEqual({ applied: [] })
  await client.end()
})
