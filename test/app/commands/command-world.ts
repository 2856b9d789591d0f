import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { inject } from 'vitest'
import { createLog } from '../../../src/base/log.ts'
import { type Sandbox, startSandbox } from '../../../src/service/start-sandbox.ts'
import { createDatabase, template, testDatabaseUrl } from '../../support/fixtures.ts'
import { type Program, type ProgramEnd, runProgram, startProgram } from '../../support/run-program.ts'
import { openTestPool } from '../../support/test-pool.ts'

/** A sandbox, a warehouse and a folder for one test file; the program runs on them as a process. */
export type CommandWorld = {
  readonly sandbox: Sandbox
  readonly databaseUrl: string
  readonly folder: string
  readonly env: Readonly<Record<string, string>>
  run(...words: string[]): Promise<ProgramEnd>
  start(words: readonly string[], env?: Readonly<Record<string, string>>): Program
  /** The parsed objects that the command printed, one a line. */
  json(...words: string[]): Promise<unknown[]>
  query(text: string, values?: unknown[]): Promise<Array<Record<string, unknown>>>
  /** The same with a copy of the warehouse, on which nobody works while it is made. */
  copy(): Promise<CommandWorld>
  close(): Promise<void>
}

export async function openCommandWorld(options: { profiles: number; days: number }): Promise<CommandWorld> {
  const service = await makeDatabase(await template('service'))
  const warehouse = await makeDatabase(await template('warehouse'))
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-cli-'))
  const log = createLog({ level: 'silent' })
  const sandbox = await startSandbox({ databaseUrl: service.url, port: 0, seed: 'commands', log, ...options })
  await sandbox.derived()
  const env = {
    UPSTREAM_URL: sandbox.url,
    UPSTREAM_CLIENT_ID: sandbox.clientId,
    UPSTREAM_CLIENT_SECRET: sandbox.clientSecret,
    TOKEN_KEY: randomBytes(32).toString('base64'),
    VITALSYNC_DATA: join(folder, 'data'),
    HISTORY_DAYS: String(options.days),
    LOG_LEVEL: 'silent',
  }
  return worldOn(warehouse, {
    sandbox,
    folder,
    env,
    async close() {
      await sandbox.close()
      await service.drop()
      await rm(folder, { recursive: true, force: true })
    },
  })
}

type Database = { readonly name: string; readonly url: string; drop(): Promise<void> }
type Surroundings = Pick<CommandWorld, 'sandbox' | 'folder' | 'env' | 'close'>

function worldOn(warehouse: Database, surroundings: Surroundings): CommandWorld {
  const { sandbox, folder } = surroundings
  const env = { ...surroundings.env, DATABASE_URL: warehouse.url }
  const pool = openTestPool(warehouse.url)
  const started = new Set<Program>()
  const start: CommandWorld['start'] = (words, more = {}) => {
    const program = startProgram(words, { cwd: folder, env: { ...env, ...more } })
    started.add(program)
    return program
  }
  const run = (...words: string[]) => runProgram(words, { cwd: folder, env })
  return {
    sandbox,
    databaseUrl: warehouse.url,
    folder,
    env,
    run,
    start,
    async json(...words) {
      const { stdout, stderr, code } = await run(...words, '--json')
      if (code === 2 || code === 3) throw new Error(`vitalsync ${words.join(' ')}: exit code ${code}\n${stderr}`)
      return stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
    },
    query: async (text, values) => (await pool.query(text, values)).rows,
    copy: async () => worldOn(await makeDatabase(warehouse.name), { ...surroundings, close: async () => undefined }),
    async close() {
      for (const program of started) program.kill('SIGKILL')
      await Promise.all([...started].map((program) => program.ended))
      await pool.end()
      await warehouse.drop()
      await surroundings.close()
    },
  }
}

async function makeDatabase(from: string): Promise<Database> {
  const name = `test_${randomBytes(12).toString('hex')}`
  await administer(createDatabase(name, from))
  return { name, url: testDatabaseUrl(name), drop: () => administer(`drop database if exists ${name} with (force)`) }
}

/** An empty database and the role that the docs ask for: it owns the database and nothing else. */
export async function makeOwnedDatabase(): Promise<Database> {
  const name = `test_owned_${randomBytes(8).toString('hex')}`
  await administer(`create role ${name} login password 'own'`)
  await administer(`create database ${name} owner ${name}`)
  const url = new URL(testDatabaseUrl(name))
  Object.assign(url, { username: name, password: 'own' })
  const drop = async () => {
    await administer(`drop database ${name} with (force)`)
    await administer(`drop role ${name}`)
  }
  return { name, url: url.href, drop }
}

async function administer(text: string): Promise<void> {
  const admin = new pg.Client({ connectionString: inject('databaseUrl') })
  await admin.connect()
  await admin.query(text)
  await admin.end()
}
