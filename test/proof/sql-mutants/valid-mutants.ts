import pg from 'pg'
import { applyMigrations } from '../../../src/base/engines/apply-migrations.ts'
import type { Mutant } from './mutants.ts'

const schemas = [
  { folder: new URL('../../../src/pipeline/warehouse/migrations/', import.meta.url), schema: 'vitalsync' },
  { folder: new URL('../../../src/service/store/migrations/', import.meta.url), schema: 'service' },
]

/** The mutants that Postgres plans. It is asked for the plan of each, and refuses wrong types, names and conflict targets. */
export async function validMutants(mutants: readonly Mutant[], serverUrl: string): Promise<Mutant[]> {
  const name = `sql_mutants_${process.pid}`
  await ask(serverUrl, (client) => client.query(`create database ${name}`))
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  try {
    for (const schema of schemas) await applyMigrations({ databaseUrl: url.href, ...schema })
    return await ask(url.href, async (client) => {
      const valid: Mutant[] = []
      for (const mutant of mutants) if (await isValid(client, mutant)) valid.push(mutant)
      return valid
    })
  } finally {
    await ask(serverUrl, (client) => client.query(`drop database if exists ${name} with (force)`))
  }
}

/** Statements about tables that tests add cannot be planned here. They are played as they are. */
async function isValid(client: pg.Client, { exchanges }: Mutant): Promise<boolean> {
  for (const { from, to } of exchanges) if (await isPlanned(client, from)) return isPlanned(client, to)
  return true
}

const isPlanned = (client: pg.Client, text: string): Promise<boolean> =>
  client.query(`explain (generic_plan) ${text}`).then(
    () => true,
    () => false,
  )

async function ask<T>(url: string, question: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await question(client)
  } finally {
    await client.end()
  }
}
