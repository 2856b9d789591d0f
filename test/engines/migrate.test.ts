import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import pg from 'pg'
import { expect } from 'vitest'
import { migrate } from '../../src/engines/migrate.ts'
import { test } from '../support/fixtures.ts'

async function folderOf(files: Record<string, string>): Promise<URL> {
  const folder = await mkdtemp(join(tmpdir(), 'migrations-'))
  for (const [name, sql] of Object.entries(files)) await writeFile(join(folder, name), sql)
  return pathToFileURL(`${folder}/`)
}

const two = {
  '0001-first.sql': 'create table demo.things (n int)',
  '0002-second.sql': 'insert into demo.things values (1)',
}

async function count(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query('select count(*)::int as n from demo.things')
  await client.end()
  return rows[0].n
}

test('eight processes that migrate at once apply each file exactly once', async ({ database }) => {
  const folder = await folderOf(two)

  const results = await Promise.all(
    Array.from({ length: 8 }, () => migrate({ databaseUrl: database, folder, schema: 'demo' })),
  )

  expect(results.flatMap((result) => result.applied).sort()).toEqual(['0001-first.sql', '0002-second.sql'])
  expect(await count(database)).toBe(1)
})

test('a file that fails leaves nothing of itself and names itself', async ({ database }) => {
  const folder = await folderOf({ ...two, '0003-broken.sql': 'insert into demo.things values (2); select nonsense()' })

  await expect(migrate({ databaseUrl: database, folder, schema: 'demo' })).rejects.toThrow(/demo\/0003-broken\.sql/)

  expect(await count(database)).toBe(1)
})

test('a file that was changed after it was applied is refused', async ({ database }) => {
  await migrate({ databaseUrl: database, folder: await folderOf(two), schema: 'demo' })
  const changed = await folderOf({ ...two, '0002-second.sql': 'insert into demo.things values (9)' })

  await expect(migrate({ databaseUrl: database, folder: changed, schema: 'demo' })).rejects.toThrow(/was changed after/)
})

test('a database of a newer version is refused', async ({ database }) => {
  await migrate({ databaseUrl: database, folder: await folderOf(two), schema: 'demo' })
  const older = await folderOf({ '0001-first.sql': two['0001-first.sql'] })

  await expect(migrate({ databaseUrl: database, folder: older, schema: 'demo' })).rejects.toThrow(/does not know/)
})
