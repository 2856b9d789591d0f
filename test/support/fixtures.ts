import { createHash, randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, test as base, inject } from 'vitest'
import { applyMigrations } from '../../src/base/engines/apply-migrations.ts'
import { readMigrations } from '../../src/base/engines/compare-migrations.ts'
import { readQuestionsRole } from '../../src/base/postgres/reading-role.ts'
import { isDistributed, withinCluster } from './distributed-warehouse.ts'
import { needRedis } from './own-redis.ts'

/** Template databases: migrated once per run, and cloned for each test. A clone takes about 40 ms, a migration far longer. */
const templates = {
  warehouse: { folder: new URL('../../src/pipeline/warehouse/migrations/', import.meta.url), schema: 'vitalsync' },
  service: { folder: new URL('../../src/service/store/migrations/', import.meta.url), schema: 'service' },
}

/** Copies the files of the template: half the processor time of writing each of its pages to the write-ahead log. */
export const createDatabase = (name: string, template: string) =>
  `create database ${name} template ${template} strategy file_copy`

/** For `expect.poll`: the time that a busy machine may take until the expected state is reached. */
export const soon = { timeout: 120_000, interval: 20 }

/** A cron line that has no slot within months of this day, whichever day the clock shows. */
export const farCron = () => `0 0 1 ${((new Date().getUTCMonth() + 6) % 12) + 1} *`

type Fixtures = {
  /** Address of an empty database of this test's own. */
  database: string
  /** Address of a database of this test's own with the warehouse's tables. */
  warehouseUrl: string
  /** Address of a database of this test's own with the Profile Service's tables. */
  serviceUrl: string
  /** Address of a Redis; where none runs, a test that uses it is skipped, and named. */
  redisUrl: string
}

export const test = base.extend<Fixtures>({
  database: async ({}, use) => within('template0', use),
  warehouseUrl: async ({}, use) => {
    if (isDistributed) await withinCluster(use)
    else await within(await template('warehouse'), use)
  },
  serviceUrl: async ({}, use) => within(await template('service'), use),
  redisUrl: async ({ skip }, use) => {
    needRedis(skip)
    await use(inject('redisUrl'))
  },
})

/** Creates a database, runs `use`, and drops the database, also when connections are open. */
export async function within(from: string, use: (url: string) => Promise<void>): Promise<void> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await administer((admin) => admin.query(createDatabase(name, from)))
  try {
    await use(testDatabaseUrl(name))
  } finally {
    await administer(async (admin) => {
      const questions = await readQuestionsRole(admin, name)
      await admin.query(`drop database if exists ${name} with (force)`)
      await admin.query(`drop role if exists ${questions.role}`)
    })
  }
}

type TemplateKind = keyof typeof templates

const made = new Map<TemplateKind, Promise<string>>()

export function template(kind: TemplateKind): Promise<string> {
  const name = made.get(kind) ?? makeTemplate(kind)
  made.set(kind, name)
  return name
}

async function makeTemplate(kind: TemplateKind): Promise<string> {
  const name = `${kind}_template_${await fingerprint(kind)}`
  await administer(async (admin) => {
    // One test process creates the template; the other processes wait for it here.
    await admin.query('select pg_advisory_lock(hashtextextended($1, 0))', [name])
    try {
      const { rows } = await admin.query('select 1 from pg_database where datname = $1 and datistemplate', [name])
      if (rows.length > 0) return
      await admin.query(`drop database if exists ${name} with (force)`)
      await admin.query(`create database ${name}`)
      await applyMigrations({ databaseUrl: testDatabaseUrl(name), ...templates[kind] })
      await admin.query(`alter database ${name} is_template true`)
    } finally {
      await admin.query('select pg_advisory_unlock(hashtextextended($1, 0))', [name])
    }
  })
  return name
}

/** A server that outlives the run may hold the template of an older version, so the name holds a digest of the migrations. */
async function fingerprint(kind: TemplateKind): Promise<string> {
  const migrations = await readMigrations(templates[kind].folder)
  const all = migrations.map((migration) => migration.checksum).join()
  return createHash('sha256').update(all).digest('hex').slice(0, 12)
}

export function testDatabaseUrl(database: string): string {
  const url = new URL(inject('databaseUrl'))
  url.pathname = `/${database}`
  return url.href
}

/** One connection for all tests of a file: to open one takes a third of the processor time of a database. */
let connected: Promise<pg.Client> | undefined

async function connectAdmin(): Promise<pg.Client> {
  const admin = new pg.Client({ connectionString: inject('databaseUrl') })
  // The next use connects again.
  admin.on('error', () => {
    connected = undefined
  })
  await admin.connect()
  return admin
}

let last: Promise<unknown> = Promise.resolve()

/** Works that share the connection follow one another: pg 9 will refuse a query while another is under way. */
function administer<T>(work: (admin: pg.Client) => Promise<T>): Promise<T> {
  const turn = last.then(async () => {
    connected ??= connectAdmin()
    return work(await connected)
  })
  last = turn.catch(() => undefined)
  return turn
}

afterAll(async () => {
  const admin = await connected
  connected = undefined
  await admin?.end()
})
