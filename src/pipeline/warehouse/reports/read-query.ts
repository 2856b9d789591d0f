import pg from 'pg'
import { Problem, UsageProblem } from '../../../base/errors.ts'
import { onAbort } from '../../../base/on-abort.ts'
import { sqlState } from '../../../base/postgres/postgres-errors.ts'
import { openPostgresPool } from '../../../base/postgres/postgres-pool.ts'
import { questionsPassword, readQuestionsRole } from '../../../base/postgres/reading-role.ts'
import { destroyConnection, onBytesReceived } from '../../../base/postgres/silent-server.ts'
import { formatBytes, formatDuration } from '../../../base/text/readable.ts'
import { SECOND } from '../../../base/time/units.ts'
import type { Pool } from '../postgres/warehouse-pool.ts'

type QueryCell = string | number | boolean | null | object
type QueryRows = { readonly columns: readonly string[]; readonly rows: ReadonlyArray<readonly QueryCell[]> }

/** The warehouse that is asked. */
export type QuestionSource = {
  /** A connection of the owner. It only names the role that answers. */
  readonly pool: Pool
  readonly databaseUrl: string
  /** The password of the role follows from one of them. */
  readonly keys: readonly Buffer[]
  /** As of `openPostgresPool`. */
  readonly sayFrozen?: (text: string) => void
}
type Question = {
  readonly text: string
  /** For the whole answer. */
  readonly timeoutMs: number
  readonly rowsAtOnce: number
  /** For each portion of rows, as the server sends them. */
  readonly bytesMax: number
  /** JSON becomes values where it is not nested too deeply. Megabytes of it occupy the process for seconds. */
  readonly parsesJson: boolean
  /** Aborted when nobody waits for the answer any more: the question ends, here and on the server. */
  readonly signal: AbortSignal
}

/**
 * Answers one query, and gives its rows in portions. The session is a login of its own that may read the public views and ends with
 * the question: it has no role to leave, and nothing that the query sets or locks stays. A cursor takes queries only; each portion has
 * the time that is left, whatever the query has set. Dates and instants stay texts as Postgres writes them, in UTC; numbers become
 * numbers where none loses a digit.
 */
export async function* readQuery(source: QuestionSource, question: Question): AsyncGenerator<QueryRows, undefined> {
  const { rowsAtOnce, bytesMax, parsesJson, signal } = question
  const { client, end } = await logIn(source, question)
  const stopListening = onAbort(signal, () => destroyConnection(client))
  const bytes = limitBytes(client, bytesMax)
  const endMs = performance.now() + question.timeoutMs
  const setTimeLeft = () =>
    client.query(`set local statement_timeout = ${Math.max(1, Math.round(endMs - performance.now()))}`)
  try {
    signal.throwIfAborted()
    await client.query('begin read only')
    await setTimeLeft()
    // One statement by the extended protocol: what follows a semicolon is refused.
    await client.query(extended(`declare question no scroll cursor for ${question.text}`))
    for (;;) {
      bytes.reset()
      await setTimeLeft()
      const { rows, fields } = await client.query<QueryCell[]>({
        text: `fetch ${rowsAtOnce} from question`,
        rowMode: 'array',
        types: { getTypeParser: parsesJson ? parserWithJson : parserOf },
      })
      yield { columns: fields.map(({ name }) => name), rows }
      if (rows.length < rowsAtOnce) return undefined
    }
  } catch (error) {
    signal.throwIfAborted()
    throw queryProblem(error, { isTooLarge: bytes.isExceeded(), ...question })
  } finally {
    stopListening()
    await end()
  }
}

const extended = (text: string): pg.QueryConfig & { queryMode: 'extended' } => ({ text, queryMode: 'extended' })

/** Ends a connection that brings more: a single value may be as large as a gigabyte. */
function limitBytes(client: pg.PoolClient, bytesMax: number) {
  let received = 0
  onBytesReceived(client, (count) => {
    received += count
    if (received > bytesMax) destroyConnection(client)
  })
  return {
    isExceeded: () => received > bytesMax,
    reset: () => {
      received = 0
    },
  }
}

const isServerStopping = (state: string) => state.startsWith('57P0')

/** A message may quote a value of any size. */
const MESSAGE_CHARACTERS_MAX = 1000

/** The message of Postgres quotes at most the user's own statement, and values that the user may read. */
function queryProblem(
  error: unknown,
  { isTooLarge, bytesMax, timeoutMs }: Question & { isTooLarge: boolean },
): unknown {
  const views = 'The views: docs/reference/warehouse.md.'
  if (isTooLarge)
    return new Problem(`run the query: a portion of its rows is larger than ${formatBytes(bytesMax)}`, {
      hint: `Ask for fewer rows or columns. ${views}`,
      cause: error,
    })
  const state = sqlState(error)
  // A connection that is lost has a code too, and it is not the statement's.
  if (!(error instanceof pg.DatabaseError) || isServerStopping(state)) return error
  const hints: Readonly<Record<string, string>> = {
    '42601': `One query is answered: select, with, values or table. ${views}`,
    '57014': `A query is given up after ${formatDuration(timeoutMs)}. ${views}`,
  }
  const { message } = error
  const text = message.length > MESSAGE_CHARACTERS_MAX ? `${message.slice(0, MESSAGE_CHARACTERS_MAX)} …` : message
  return new Problem(`run the query: ${text}`, { hint: hints[state] ?? views, cause: error })
}

/** For a role for questions that is missing, or does not let us in. */
export const QUESTIONS_ROLE_HINT =
  'Run: vitalsync migrate, with the TOKEN_KEY of the workers. It makes the role, or says what an administrator is to run.'

/** Whether the role that answers questions can log in. */
export const canAsk = (source: QuestionSource): Promise<boolean> =>
  logIn(source, { timeoutMs: 10 * SECOND }).then(
    async ({ end }) => {
      await end()
      return true
    },
    () => false,
  )

/** Logs in with the first key whose password is the role's. Never as the owner. */
async function logIn(
  { pool, databaseUrl, keys, sayFrozen }: QuestionSource,
  { timeoutMs }: Pick<Question, 'timeoutMs'>,
): Promise<{ readonly client: pg.PoolClient; end(): Promise<void> }> {
  const { role } = await readQuestionsRole(pool)
  let refused: unknown
  for (const key of keys) {
    const sessions = openPostgresPool({
      databaseUrl: addressAs(databaseUrl, role, questionsPassword(key, role)),
      connectionsMax: 1,
      name: 'vitalsync question',
      statementTimeoutMs: timeoutMs,
      sayFrozen,
      settings: {
        jit: 'off',
        default_transaction_read_only: 'on',
        // The server sees within a second that the connection is gone, and works no longer for nobody.
        client_connection_check_interval: '1s',
      },
    })
    try {
      const client = await sessions.connect()
      const end = () => {
        client.release(true)
        return sessions.end()
      }
      return { client, end }
    } catch (error) {
      await sessions.end()
      if (!isRefusal(error)) throw loginProblem(error, role)
      refused = error
    }
  }
  throw loginProblem(refused, role)
}

/** `user` and `password` among the parameters count before those in front of the host, which an address of a socket cannot have. */
function addressAs(databaseUrl: string, role: string, password: string): string {
  const url = new URL(databaseUrl)
  url.searchParams.set('user', role)
  url.searchParams.set('password', password)
  return url.href
}

/** Wrong password, or no such role. */
const isRefusal = (error: unknown): boolean => sqlState(error).startsWith('28')

const TOO_MANY_CONNECTIONS = '53300'

function loginProblem(cause: unknown, role: string): unknown {
  if (cause === undefined)
    return new UsageProblem('answer questions: TOKEN_KEY is not set', {
      hint: `Set it as the workers have it: the password of ${role} follows from it.`,
    })
  const state = sqlState(cause)
  if (state === TOO_MANY_CONNECTIONS)
    return new Problem('answer questions: too many are asked at once', { hint: 'Ask again in a moment.', cause })
  if (!(cause instanceof Error) || !(isRefusal(cause) || state === '42501')) return cause
  return new UsageProblem(`answer questions: ${role} cannot log in: ${cause.message}`, {
    hint: QUESTIONS_ROLE_HINT,
    cause,
  })
}

const toNumber = (text: string): QueryCell => (Number.isFinite(Number(text)) ? Number(text) : text)
const toInteger = (text: string): QueryCell => (Number.isSafeInteger(Number(text)) ? Number(text) : text)

/** The serializer of the answer gives up at some thousand levels. */
const LEVELS_MAX = 500

/** JSON that is nested too deeply stays a text. Brackets within its texts count too. */
function toJson(text: string): QueryCell {
  let level = 0
  for (const bracket of text.matchAll(/[[{\]}]/g)) {
    level += bracket[0] === '[' || bracket[0] === '{' ? 1 : -1
    if (level > LEVELS_MAX) return text
  }
  return JSON.parse(text)
}

const parsers: Readonly<Record<number, (text: string) => QueryCell>> = {
  16: (text) => text === 't',
  20: toInteger,
  21: toInteger,
  23: toInteger,
  700: toNumber,
  701: toNumber,
}
const [JSON_OID, JSONB_OID] = [114, 3802]

/** By the type's oid: boolean, the integers and the floats; everything else stays text. */
const parserOf = (oid: number) => parsers[oid] ?? ((text: string) => text)
const parserWithJson = (oid: number) => (oid === JSON_OID || oid === JSONB_OID ? toJson : parserOf(oid))
