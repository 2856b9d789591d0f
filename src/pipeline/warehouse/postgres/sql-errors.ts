import { connectionCauseOf, connectionCauses, connectionHint } from '../../../base/connections/causes.ts'
import { EngineUnreachable, type Problem } from '../../../base/errors.ts'

/** The SQLSTATE of a Postgres error, or the code of a socket error; empty where there is none. */
export const sqlState = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''

/** Classes 22, 23 and 54: Postgres rejects this very data, so a retry would change nothing. */
export const isDataException = (error: unknown): boolean => /^(22|23|54)/.test(sqlState(error))

const socketErrorCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
])

/**
 * SQLSTATEs that say nothing about the statement: idle in a transaction for too long, a standby that only reads, a lock or
 * the statement that took too long, a conflict with other transactions.
 */
const outageStates = new Set(['25P03', '25006', '55P03', '57014', '40001', '40P01'])

/** The connection was not made, or is gone, or its server is. */
function isConnectionLost(error: unknown): boolean {
  const state = sqlState(error)
  if (error instanceof EngineUnreachable || /^(08|57P0)/.test(state) || socketErrorCodes.has(state)) return true
  // The driver gives no code for a connection that ended during a query.
  return error instanceof Error && /^Connection terminated|timeout exceeded when trying to connect/.test(error.message)
}

/** Postgres is not reachable, shutting down, full or slow: nothing is wrong with the statement, and a retry may succeed. */
export function isOutage(error: unknown): boolean {
  const state = sqlState(error)
  return isConnectionLost(error) || state.startsWith('53') || outageStates.has(state)
}

/** The fault of Postgres, in words, for the states that an operator can mend. */
const outageWords: Readonly<Record<string, string>> = {
  '53100': 'its disk is full',
  '53200': 'it has no memory left',
  '53300': 'it has no connection left',
  '25006': 'it is a standby that only reads',
  '57P01': 'it was shut down',
  '57P02': 'it crashed',
  '57P03': 'it is starting or shutting down',
  '57014': 'the statement took too long',
  '55P03': 'a lock was not free in time',
}

/** An outage of Postgres in words that quote nothing, with the code by which its manual knows it. */
export function describeOutage(error: unknown): string {
  const state = sqlState(error)
  const words = outageWords[state] ?? 'it does not answer'
  return `Postgres: ${words}${state === '' ? '' : ` (${state})`}`
}

/** Some people of the warehouse cannot be reached, and the others can: only their jobs wait. */
export class PartialOutage extends EngineUnreachable {}

/** The statement took too long, or the lock was not free in time. */
export const isTooLong = (error: unknown): boolean => ['57014', '55P03'].includes(sqlState(error))

export function postgresUnreachable(cause: unknown): Problem {
  if (cause instanceof EngineUnreachable) return cause
  if (sqlState(cause) === '53100') {
    return new EngineUnreachable(`reach ${describeOutage(cause)}`, {
      hint: 'Free some space on the machine of Postgres: workers that are running then go on by themselves.',
      cause,
    })
  }
  const name = connectionCauseOf(cause)
  const { words, code } = connectionCauses[name]
  const hint = connectionHint(name, 'DATABASE_URL')
  return new EngineUnreachable(`reach Postgres: ${words}`, { hint, cause, isConfiguration: code === 2 })
}
