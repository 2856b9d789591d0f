import { createHash, randomUUID } from 'node:crypto'
import pg from 'pg'
import { test as base, inject } from 'vitest'
import { migrate, readMigrations } from '../../src/engines/migrate.ts'

/** Migrated once per run and cloned for each test that wants one: a clone takes some 40 ms, a migration far longer. */
const templates = {
  warehouse: { folder: new URL('../../src/warehouse/migrations/', import.meta.url), schema: 'vitalsync' },
  service: { folder: new URL('../../src/service/store/migrations/', import.meta.url), schema: 'service' },
}

/** For `expect.poll`: how long a machine that is busy with other things may take over what is at hand. */
export const soon = { timeout: 20_000, interval: 20 }

type Fixtures = {
  /** Address of an empty database of this test's own. */
  database: string
  /** Address of a database of this test's own with the warehouse's tables. */
  warehouseUrl: string
  /** Address of a database of this test's own with the Profile Service's tables. */
  serviceUrl: string
  /** Address of a Redis; a test that asks for it is left out, and named, where there is none. */
  redisUrl: string
}

export const test = base.extend<Fixtures>({
  database: async ({}, use) => within('template0', use),
  warehouseUrl: async ({}, use) => within(await template('warehouse'), use),
  serviceUrl: async ({}, use) => within(await template('service'), use),
  redisUrl: async ({ skip }, use) => {
    const url = inject('redisUrl')
    if (url === '') skip('no Redis: none given, no Docker engine, no redis-server on the PATH')
    await use(url)
  },
})

/** Makes a database for the time of `use` and drops it afterwards, open connections and all. */
export async function within(from: string, use: (url: string) => Promise<void>): Promise<void> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await administer((admin) => admin.query(`create database ${name} template ${from}`))
  try {
    await use(urlOf(name))
  } finally {
    await administer((admin) => admin.query(`drop database if exists ${name} with (force)`))
  }
}

export async function template(kind: keyof typeof templates): Promise<string> {
  const name = `${kind}_template_${await fingerprint(kind)}`
  await administer(async (admin) => {
    // One of the test processes makes the template, the others wait for it here.
    await admin.query('select pg_advisory_lock(hashtextextended($1, 0))', [name])
    const { rows } = await admin.query('select 1 from pg_database where datname = $1 and datistemplate', [name])
    if (rows.length > 0) return
    await admin.query(`drop database if exists ${name} with (force)`)
    await admin.query(`create database ${name}`)
    await migrate({ databaseUrl: urlOf(name), ...templates[kind] })
    await admin.query(`alter database ${name} is_template true`)
  })
  return name
}

/** A server that outlives the run may hold the template of an older version: the name tells them apart. */
async function fingerprint(kind: keyof typeof templates): Promise<string> {
  const migrations = await readMigrations(templates[kind].folder)
  const all = migrations.map((migration) => migration.checksum).join()
  return createHash('sha256').update(all).digest('hex').slice(0, 12)
}

export function urlOf(database: string): string {
  const url = new URL(inject('databaseUrl'))
  url.pathname = `/${database}`
  return url.href
}

async function administer<T>(work: (admin: pg.Client) => Promise<T>): Promise<T> {
  const admin = new pg.Client({ connectionString: inject('databaseUrl') })
  await admin.connect()
  try {
    return await work(admin)
  } finally {
    await admin.end()
  }
}
