import { randomUUID } from 'node:crypto'
import pg from 'pg'

/**
 * The divided warehouse that each test gets a copy of (`npm run citus`): the address of its database at the coordinator, then at each
 * worker. None in every other run.
 */
const templateUrls: readonly string[] = (process.env['TEST_CITUS_URLS'] ?? '').split(' ').filter(Boolean)

export const isDistributed = templateUrls.length > 0

/**
 * Clones the database of each node, runs `use` with the address of the coordinator's, and drops them. To Citus a clone is whole: nodes, shards
 * and places stand in tables of the database. Making a warehouse and dividing it takes seconds, a clone a tenth of one.
 */
export async function withinCluster(use: (url: string) => Promise<void>): Promise<void> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  const [coordinator = '', ...workers] = templateUrls
  await Promise.all(templateUrls.map((url) => clone(url, name)))
  try {
    await use(withName(coordinator, name))
  } finally {
    // The coordinator's first: it talks to the others.
    await drop(coordinator, name)
    await Promise.all(workers.map((url) => drop(url, name)))
  }
}

/** A setting of the template, which `migrate --distribute` made, is not cloned. */
const clone = (url: string, name: string): Promise<void> =>
  administer(url, `create database ${name} template ${nameOf(url)}`, `alter database ${name} set jit = off`)

const DROP_TRIES = 12
const IN_USE = '55006'

/** The maintenance daemon of Citus ends when it is asked to, but not at once, and Postgres waits five seconds for it. */
async function drop(nodeUrl: string, name: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await administer(nodeUrl, `drop database if exists ${name} with (force)`)
    } catch (error) {
      if (tries === DROP_TRIES || !(error instanceof pg.DatabaseError) || error.code !== IN_USE) throw error
    }
  }
}

const nameOf = (url: string): string => new URL(url).pathname.slice(1)

function withName(databaseUrl: string, name: string): string {
  const url = new URL(databaseUrl)
  url.pathname = `/${name}`
  return url.href
}

async function administer(nodeUrl: string, ...statements: string[]): Promise<void> {
  const admin = new pg.Client({ connectionString: withName(nodeUrl, 'postgres') })
  await admin.connect()
  try {
    for (const statement of statements) await admin.query(statement)
  } finally {
    await admin.end()
  }
}
