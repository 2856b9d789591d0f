import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import pg from 'pg'

/** A reader takes no connection from the workers. */
const CONNECTIONS_MAX = 8

/** Where a session of the role begins. The session itself may raise them. */
const sessionSettings = {
  statement_timeout: '10min',
  idle_in_transaction_session_timeout: '10min',
  work_mem: '32MB',
}
/** Only a superuser may set or raise it. */
const TEMP_FILE_LIMIT = '4GB'

type ReadingRole = {
  readonly name: string
  readonly exists: boolean
  /** The role may log in with it; a password in clear text or the verifier of one. */
  readonly password?: string
}

/** Statements that make a role for sessions that only read, or bring it up to date. Its rights are granted elsewhere. */
export function readingRoleStatements({ name, exists, password }: ReadingRole): string[] {
  const role = pg.escapeIdentifier(name)
  const login = password === undefined ? '' : ` login password ${pg.escapeLiteral(password)}`
  return [
    `${exists ? 'alter' : 'create'} role ${role} with noinherit connection limit ${CONNECTIONS_MAX}${login}`,
    ...Object.entries(sessionSettings).map(([setting, value]) => `alter role ${role} set ${setting} = '${value}'`),
  ]
}

export const tempFileLimitStatement = (name: string) =>
  `alter role ${pg.escapeIdentifier(name)} set temp_file_limit = '${TEMP_FILE_LIMIT}'`

/**
 * The role writes nothing into the log of the server, by `raise log` or settings such as `debug_print_plan`. Only a superuser may set
 * it, and only for a server whose log nobody keeps.
 */
export const silentLogStatement = (name: string) =>
  `alter role ${pg.escapeIdentifier(name)} set log_min_messages = 'fatal'`

/** Advisory locks (some thousands fill the lock table of the whole server) and functions that make large objects. */
const CLOSED_FUNCTIONS = '^pg_(try_)?advisory_|^lo_(creat|create|from_bytea)$'

/**
 * Takes from every role but `owner` the functions of the connected database by which a role that only reads hinders others: the
 * closed functions, messages in the write-ahead log, files of snapshots, and the end of other sessions of its role. Only a superuser
 * may do this, and only in a database that nobody else uses.
 */
export const closeFunctionsStatement = (owner: string) => `do $$
  declare function regprocedure;
  begin
    for function in select oid from pg_proc
      where pronamespace = 'pg_catalog'::regnamespace and has_function_privilege('public', oid, 'execute') and (
        proname ~ '${CLOSED_FUNCTIONS}'
        or proname in ('pg_logical_emit_message', 'pg_export_snapshot', 'pg_cancel_backend', 'pg_terminate_backend'))
    loop
      execute format('grant execute on function %s to ${pg.escapeIdentifier(owner)}', function);
      execute format('revoke execute on function %s from public', function);
    end loop;
  end $$`

/**
 * The name of the role that answers questions about a database, the connected one if none is given. All databases of a server share its roles, so the name holds the
 * number of the database, which stays when the database is renamed.
 */
export async function readQuestionsRole(
  server: { query(text: string, values: unknown[]): Promise<{ rows: Array<Record<string, unknown>> }> },
  database?: string,
): Promise<{ role: string; exists: boolean }> {
  const { rows } = await server.query(
    `select q.role, exists(select from pg_roles r where r.rolname = q.role) as exists
     from (select 'vitalsync_questions_' || oid as role from pg_database where datname = coalesce($1, current_database())) q`,
    [database],
  )
  return { role: String(rows[0]?.['role']), exists: rows[0]?.['exists'] === true }
}

/** The password follows from the key, and is stored nowhere. */
export const questionsPassword = (key: Buffer, role: string): string =>
  createHmac('sha256', key).update(`vitalsync ${role}`).digest('base64url')

const SCRAM_ITERATIONS = 4096

/** A password as Postgres stores it: statements, logs of the server and hints show no password. */
export function scramVerifier(password: string): string {
  const salt = randomBytes(16)
  const salted = pbkdf2Sync(password, salt, SCRAM_ITERATIONS, 32, 'sha256')
  const keyOf = (name: string) => createHmac('sha256', salted).update(name).digest()
  const stored = createHash('sha256').update(keyOf('Client Key')).digest('base64')
  const server = keyOf('Server Key').toString('base64')
  return `SCRAM-SHA-256$${SCRAM_ITERATIONS}:${salt.toString('base64')}$${stored}:${server}`
}
