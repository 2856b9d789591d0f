import { EngineUnreachable, Halted, Problem, RetryLater, Unanswered, UsageProblem } from '../../base/errors.ts'
import { fileFaultOf } from '../../base/files/named-files.ts'
import { exitCodes } from '../terminal/command-context.ts'

/** The text and the hint for the terminal, and the exit code for the shell. */
type DescribedError = { readonly text: string; readonly hint: string | undefined; readonly code: number }

/** Upstream counts as an engine: a missing answer, or a request to retry later, is no failure of the command. */
const unreachableErrors = [EngineUnreachable, Unanswered, RetryLater]

/** The addresses of the running command, as far as they are given. */
export type GivenAddresses = { readonly databaseUrl?: string | undefined; readonly queueUrl?: string | undefined }

/** Describes any error. The stack is shown only for an error that nobody has foreseen. */
export async function describeError(error: unknown, given: GivenAddresses = {}): Promise<DescribedError> {
  if (error instanceof Problem) return describeProblem(error)
  const fault = fileFaultOf(error)
  if (fault) return { ...fault, code: exitCodeOfFault(fault) }
  const lostQueue = await lostRedis(error, given.queueUrl)
  if (lostQueue) return describeError(lostQueue)
  const { isOutage, sqlState } = await import('../../base/postgres/postgres-errors.ts')
  const state = sqlState(error)
  const known = postgresErrors.find(({ states }) => states.test(state))
  if (known) return { text: `query Postgres: ${(error as Error).message}`, hint: known.hint, code: known.code }
  // Classes 28 and 3D: Postgres refuses the role, or has no such database.
  if (isOutage(error) || /^(28|3D)/.test(state)) return describeError(await lostPostgres(error, given))
  const stack = error instanceof Error ? error.stack : String(error)
  return { text: `unexpected error, please report it\n${stack}`, hint: undefined, code: exitCodes.failures }
}

/** Words take the place of what the system says about a file. */
function describeProblem(problem: Problem): DescribedError {
  const { message: text, hint, cause } = problem
  const fault = fileFaultOf(cause)
  if (!fault || !(problem instanceof UsageProblem)) return { text, hint, code: exitCodeOf(problem) }
  const { message } = cause as Error // a fault is made of an error
  return { text: text.replace(message, fault.words), hint: hint ?? fault.hint, code: exitCodeOfFault(fault) }
}

const exitCodeOfFault = ({ isNamedWrong }: { readonly isNamedWrong: boolean }): number =>
  isNamedWrong ? exitCodes.usage : exitCodes.failures

/** A queue in Redis that was lost in the middle of a command. */
async function lostRedis(error: unknown, queueUrl = ''): Promise<Problem | undefined> {
  if (!/^rediss?:/.test(queueUrl)) return undefined
  const { isRedisLost } = await import('../../pipeline/queue/redis-connection.ts')
  if (!isRedisLost(error, queueUrl)) return undefined
  const { connectionProblem } = await import('../../base/connections/connection-problem.ts')
  return connectionProblem({ kind: 'Redis', url: queueUrl, variable: 'QUEUE_URL' }, error)
}

/** A connection that was lost in the middle of a command. Without a given address it is that of our own Postgres. */
async function lostPostgres(error: unknown, { databaseUrl, queueUrl = '' }: GivenAddresses): Promise<Problem> {
  const { connectionProblem, isAnswering } = await import('../../base/connections/connection-problem.ts')
  const { OWN_HINT } = await import('../../base/connections/own-server.ts')
  const queue = { kind: 'Postgres', url: queueUrl, variable: 'QUEUE_URL' } as const
  // The error names neither server, so the server that does not answer is reported.
  const hasOwnQueue = queueUrl !== databaseUrl && /^postgres/.test(queueUrl)
  if (hasOwnQueue && !(await isAnswering(queue))) return connectionProblem(queue, error)
  if (databaseUrl) return connectionProblem({ kind: 'Postgres', url: databaseUrl, variable: 'DATABASE_URL' }, error)
  const { postgresUnreachable } = await import('../../pipeline/warehouse/postgres/sql-errors.ts')
  const { message } = postgresUnreachable(error)
  return new EngineUnreachable(message, { hint: OWN_HINT, cause: error })
}

function exitCodeOf(problem: Problem): number {
  // Upstream refuses the account's credentials.
  if (problem instanceof UsageProblem || problem instanceof Halted) return exitCodes.usage
  if (problem instanceof EngineUnreachable && problem.isConfiguration) return exitCodes.usage
  return unreachableErrors.some((kind) => problem instanceof kind) ? exitCodes.unreachable : exitCodes.failures
}

const { failures, usage } = exitCodes

/** Errors of Postgres that an operator can fix. Their messages name roles and tables, no profiles. */
const postgresErrors: ReadonlyArray<{ states: RegExp; hint: string; code: number }> = [
  {
    states: /^53100$/,
    hint: 'The disk of Postgres is full: free some space there, and give the same command again.',
    code: failures,
  },
  { states: /^42704$/, hint: 'Name an existing role, or create it: create role … login password ….', code: usage },
  {
    states: /^(42P01|3F000)$/,
    hint: 'The warehouse’s tables are created by vitalsync migrate, the tables of the Profile Service by vitalsync service.',
    code: usage,
  },
  { states: /^42501$/, hint: 'Run it as the role that owns the tables.', code: usage },
]
