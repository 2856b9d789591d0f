import { randomBytes } from 'node:crypto'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startPostgres } from '../../../src/base/engines/embedded-postgres.ts'
import { createLog } from '../../../src/base/log.ts'
import { startSandbox } from '../../../src/service/start-sandbox.ts'
import { runProgram } from '../../support/run-program.ts'

/**
 * A warehouse that the program filled from a sandbox, with a role that may read it and has a schema of its own. Prints one line
 * of JSON when it is ready (port, role, password, database) and ends when its standard input ends.
 */
const DAYS = 20
const role = 'analyst_of_dbt'
const password = randomBytes(12).toString('hex')
const tokenKey = randomBytes(32).toString('base64')
const folder = await mkdtemp(join(tmpdir(), 'vitalsync-dbt-'))
await chmod(folder, 0o755) // as root, the server runs as nobody and must be able to enter
const postgres = await startPostgres({ folder, throwAway: true })
const admin = await connect('postgres')
await admin.query('create database warehouse')
const sandbox = await startSandbox({
  databaseUrl: postgres.adminUrl('postgres'),
  port: 0,
  profiles: 3,
  days: DAYS,
  seed: 'dbt',
  log: createLog({ level: 'warn' }),
})
await sandbox.derived()

for (const words of [['migrate'], ['profiles', 'discover'], ['sync'], ['grant-reader', role]]) await runWell(words)
const owner = await connect('warehouse')
await owner.query(`alter role ${role} login password '${password}'; create schema analytics authorization ${role}`)
await owner.end()
process.stdout.write(`${JSON.stringify({ port: postgres.port, role, password, database: 'warehouse' })}\n`)
for await (const _ of process.stdin);
await sandbox.close()
await admin.end()
await postgres.close()
await rm(folder, { recursive: true, force: true })

async function connect(database: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: postgres.adminUrl(database) })
  await client.connect()
  return client
}

async function runWell(words: readonly string[]): Promise<void> {
  const { code, stderr } = await runProgram(words, {
    cwd: folder,
    env: {
      DATABASE_URL: postgres.adminUrl('warehouse'),
      UPSTREAM_URL: sandbox.url,
      UPSTREAM_CLIENT_ID: sandbox.clientId,
      UPSTREAM_CLIENT_SECRET: sandbox.clientSecret,
      TOKEN_KEY: tokenKey,
      VITALSYNC_DATA: join(folder, 'data'),
      HISTORY_DAYS: String(DAYS),
    },
  })
  if (code !== 0) throw new Error(`vitalsync ${words.join(' ')} ended with ${code}: ${stderr}`)
}
