import type pg from 'pg'
import { connectionCauses, connectionHint } from '../connections/causes.ts'
import { connectionFinding, type ServerAddress } from '../connections/connection-problem.ts'
import { clockFinding, type Finding } from '../connections/finding.ts'
import { findPooler, POSTGRES_OLDEST } from '../postgres/direct-connection.ts'
import { withConnection } from '../postgres/short-connection.ts'
import type { MigratedSchema } from './apply-migrations.ts'
import { compareMigrations, findTooNew, findUnreleased, MIGRATE_HINT } from './compare-migrations.ts'

const CONNECT_TIMEOUT_MS = 5000

type PostgresTarget = { subject: string; databaseUrl: string; variable: string }

/** Examines a Postgres server and the role of the address; changes nothing. */
export async function examinePostgres(target: PostgresTarget): Promise<Finding[]> {
  const { subject, databaseUrl } = target
  const pooler = await findPooler(databaseUrl).catch((error: Error) => error)
  if (pooler instanceof Error) return [await connectionFinding(subject, serverOf(target), pooler)]
  if (pooler) return [{ subject, state: 'wrong', ...pooler }]
  return withClient(target, async (client) => {
    const askedAtMs = Date.now()
    const { rows } = await client.query<ServerSettings>(settingsQuery)
    const [found] = rows
    if (found === undefined) return []
    const aheadMs = found.now_ms - (askedAtMs + Date.now()) / 2
    return [
      versionFinding(target, found),
      ...durabilityFindings(subject, found),
      ...rightsFindings(subject, found),
      ...encodingFindings(subject, found),
      clockFinding(subject, aheadMs),
    ]
  })
}

const serverOf = ({ databaseUrl, variable }: PostgresTarget): ServerAddress => ({
  kind: 'Postgres',
  url: databaseUrl,
  variable,
})

type ServerSettings = {
  version: string
  number: number
  synchronous_commit: string
  fsync: string
  full_page_writes: string
  encoding: string
  role: string
  excess: string[]
  now_ms: number
}

const settingsQuery = `
  select current_setting('server_version') as version, current_setting('server_version_num')::int as number,
    current_setting('synchronous_commit') as synchronous_commit, current_setting('fsync') as fsync,
    current_setting('full_page_writes') as full_page_writes, current_setting('server_encoding') as encoding,
    current_user as role, (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms,
    (select array_remove(array[
        case when rolsuper then 'superuser' end,
        -- From Postgres 16 on it reaches only the roles that its holder made.
        case when rolcreaterole and current_setting('server_version_num')::int < 160000 then 'createrole' end,
        case when rolcreatedb then 'createdb' end, case when rolreplication then 'replication' end,
        case when rolbypassrls then 'bypassrls' end], null) || array(
      select g.rolname::text from pg_roles g
      where g.rolname in ('pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files')
        and not r.rolsuper and pg_has_role(r.oid, g.oid, 'member'))
     from pg_roles r where r.rolname = current_user) as excess`

function versionFinding({ subject, variable }: PostgresTarget, { version: text, number }: ServerSettings): Finding {
  if (number >= POSTGRES_OLDEST * 10_000) return { subject, state: 'well', text: `Postgres ${text}` }
  return {
    subject,
    state: 'wrong',
    text: `Postgres ${text}: ${connectionCauses['too-old'].words}`,
    hint: connectionHint('too-old', variable),
  }
}

function durabilityFindings(subject: string, settings: ServerSettings): Finding[] {
  const off = (['synchronous_commit', 'fsync', 'full_page_writes'] as const).filter((name) => settings[name] === 'off')
  return off.map((name) => ({
    subject,
    state: 'wrong',
    text: `${name} is off: what was committed can be lost when the server dies`,
    hint: `alter system set ${name} = on; select pg_reload_conf(); and see that no role or database sets it off.`,
  }))
}

function rightsFindings(subject: string, { role, excess }: ServerSettings): Finding[] {
  if (excess.length === 0) return [{ subject, state: 'well', text: `role ${role} has no more rights than it needs` }]
  return [
    {
      subject,
      state: 'wrong',
      text: `role ${role} has rights it does not need: ${excess.join(', ')}`,
      hint: 'Make a role that only owns this database (create role vitalsync login; alter database … owner to vitalsync) and connect as that.',
    },
  ]
}

function encodingFindings(subject: string, { encoding: name }: ServerSettings): Finding[] {
  if (name === 'UTF8') return []
  const hint = "Make a database with create database … encoding 'UTF8' template template0 and use that."
  return [{ subject, state: 'wrong', text: `the database keeps ${name}, not UTF8`, hint }]
}

/** Whether the tables are those of this version. */
export async function examineMigrations(target: PostgresTarget & MigratedSchema): Promise<Finding[]> {
  const { subject } = target
  return withClient(target, async (client) => {
    const compared = await compareMigrations(client, target)
    const unreleased = findUnreleased(compared)
    if (unreleased) return [{ subject, state: 'wrong', ...unreleased }]
    const { files, applied, missing, unknown } = compared
    const tooNew = findTooNew(unknown)
    if (tooNew) return [{ subject, state: 'wrong', ...tooNew }]
    if (missing.length === 0) {
      if (unknown.length > 0)
        return [
          { subject, state: 'note', text: `its tables are of a newer version (${unknown.join(', ')}), and will do` },
        ]
      return [{ subject, state: 'well', text: `all ${files.length} migrations are applied` }]
    }
    const text = applied.length === 0 ? 'it has no tables yet' : `migrations are missing: ${missing.join(', ')}`
    return [{ subject, state: 'wrong', text, hint: MIGRATE_HINT }]
  })
}

async function withClient(
  target: PostgresTarget,
  examine: (client: pg.Client) => Promise<Finding[]>,
): Promise<Finding[]> {
  const { subject, databaseUrl } = target
  const options = {
    connectionString: databaseUrl,
    connectMaxMs: CONNECT_TIMEOUT_MS,
    statement_timeout: CONNECT_TIMEOUT_MS,
    answerMaxMs: CONNECT_TIMEOUT_MS,
    application_name: 'vitalsync doctor',
  }
  return withConnection(options, examine).catch(async (error: unknown) => [
    await connectionFinding(subject, serverOf(target), error),
  ])
}
