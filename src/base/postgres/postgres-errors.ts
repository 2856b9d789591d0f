import { EngineUnreachable } from '../errors.ts'

/** The SQLSTATE of a Postgres error, or the code of a socket error; empty where there is none. */
export const sqlState = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''

const socketErrorCodes = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN'])

/** The socket of a server on this machine is not there. The same code of another file says nothing about Postgres. */
const isSocketGone = (error: unknown): boolean =>
  sqlState(error) === 'ENOENT' && Reflect.get(Object(error), 'syscall') === 'connect'

/**
 * SQLSTATEs that say nothing about the statement: idle in a transaction for too long, a standby that only reads, a lock or
 * the statement that took too long, a conflict with other transactions.
 */
const outageStates = new Set(['25P03', '25006', '55P03', '57014', '40001', '40P01'])

/** The connection was not made, or is gone, or its server is. */
function isConnectionLost(error: unknown): boolean {
  const state = sqlState(error)
  if (error instanceof EngineUnreachable || /^(08|57P0)/.test(state) || socketErrorCodes.has(state)) return true
  if (isSocketGone(error)) return true
  // The database takes no connections for now. As an error of a statement, the state says nothing about the server.
  if (state === '55000' && Reflect.get(Object(error), 'severity') === 'FATAL') return true
  // The driver gives no code for a connection that ended during a query or before it, nor for a pool that was closed meanwhile.
  return (
    error instanceof Error &&
    /^Connection terminated|is not queryable$|timeout exceeded when trying to connect|^Cannot use a pool after/.test(
      error.message,
    )
  )
}

/** Postgres is not reachable, shutting down, full or slow: nothing is wrong with the statement, and a retry may succeed. */
export function isOutage(error: unknown): boolean {
  const state = sqlState(error)
  return isConnectionLost(error) || state.startsWith('53') || outageStates.has(state)
}
