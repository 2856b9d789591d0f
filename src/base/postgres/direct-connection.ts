import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { connectionProblem } from '../connections/connection-problem.ts'
import { isOwnServer } from '../connections/own-server.ts'
import { UsageProblem } from '../errors.ts'
import { SECOND } from '../time/units.ts'
import { withConnection } from './short-connection.ts'

/** To connect, and for each answer. */
const WAIT_MAX_MS = 5 * SECOND
/** A pooler may by chance give both connections a session of their own. */
const PROBES = 3

/** Why an address cannot be used, although a Postgres answers behind it. Undefined: it leads to Postgres itself. */
type PoolerFault = { readonly text: string; readonly hint: string }

const hint =
  'Give the address of Postgres itself. vitalsync pools its connections, and needs sessions for LISTEN, advisory locks, prepared statements and settings.'

/**
 * Finds out whether a pooler (PgBouncer, or one that works like it) stands before the database: in pooling mode
 * "transaction" LISTEN is lost without a word, and prepared statements fail on another session. Session settings that one
 * connection makes must not be seen by another, and those that are asked for at the start must hold.
 */
export async function findPooler(databaseUrl: string): Promise<PoolerFault | undefined> {
  const probe = {
    connectionString: databaseUrl,
    connectMaxMs: WAIT_MAX_MS,
    answerMaxMs: WAIT_MAX_MS,
    application_name: 'vitalsync probe',
    options: '-c vitalsync.probe=asked',
  }
  try {
    return await withConnection(probe, (client) => withConnection(probe, (other) => findSharedSession(client, other)))
  } catch (error) {
    if (error instanceof Error && /unsupported startup parameter/i.test(error.message))
      return { text: 'it leads to PgBouncer, which refuses the settings of our connections', hint }
    throw error
  }
}

async function findSharedSession(first: pg.Client, other: pg.Client): Promise<PoolerFault | undefined> {
  await requireServerVersion(first)
  const seenBy = async (client: pg.Client) => {
    const { rows } = await client.query<{ value: string | null }>(
      "select current_setting('vitalsync.probe', true) as value",
    )
    return rows[0]?.value
  }
  for (let probe = 0; probe < PROBES; probe += 1) {
    const mark = randomUUID()
    await first.query("select set_config('vitalsync.probe', $1, false)", [mark])
    const [mine, others] = [await seenBy(first), await seenBy(other)]
    if (others === mark || mine !== mark)
      return { text: 'it leads to a pooler that shares sessions among connections (transaction pooling)', hint }
    if (others !== 'asked') return { text: 'it leads to a pooler that drops the settings of our connections', hint }
  }
  return undefined
}

/** For the start of a process. Our own server has no pooler. Throws a UsageProblem that names the variable. */
export async function requireDirectConnection(databaseUrl: string, variable: string): Promise<void> {
  if (isOwnServer(databaseUrl)) return
  const fault = await findPooler(databaseUrl).catch(async (cause: unknown) => {
    throw await connectionProblem({ kind: 'Postgres', url: databaseUrl, variable }, cause)
  })
  if (fault) throw new UsageProblem(`use ${variable}: ${fault.text}`, { hint: fault.hint })
}

export const POSTGRES_OLDEST = 15

/** A connection or a pool. */
type Queryable = { query<R extends pg.QueryResultRow>(text: string): Promise<{ rows: R[] }> }

/** Throws an error whose words the table of causes knows (`too old`). */
export async function requireServerVersion(client: Queryable): Promise<void> {
  const { rows } = await client.query<{ text: string; number: number }>(
    "select current_setting('server_version') as text, current_setting('server_version_num')::int as number",
  )
  const [version] = rows
  if (version && version.number < POSTGRES_OLDEST * 10_000) throw new Error(`Postgres ${version.text} is too old`)
}
