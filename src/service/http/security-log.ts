import type { Log } from '../../base/log.ts'
import { isLoopback, isReadableOnTheWay } from '../../base/text/readable.ts'

type SecurityEvent =
  | 'login refused'
  | 'refusals paced'
  | 'refresh token used twice'
  | 'key made'
  | 'key revoked'
  | 'tokens revoked'
  | 'profiles erased'
  | 'console action'

/** Ids of our own only, and where the caller is: no secret, no externalId, no value. */
type SecurityDetails = {
  address?: string
  accountId?: string
  keyId?: string
  profileIds?: readonly string[]
  requestId?: string
  /** The name with which somebody signed in to the console. */
  who?: string
  role?: string
  action?: string
  count?: number
}

const profileIdsMax = 100

/**
 * One line for each event that an auditor asks about, in the log of the process, by its field `security`. It is written whatever LOG_LEVEL
 * says, but `silent`.
 */
export function logSecurity(log: Log, security: SecurityEvent, details: SecurityDetails): void {
  if (log.level === 'silent') return
  const { profileIds, ...others } = details
  const listed = profileIds && { profileIds: profileIds.slice(0, profileIdsMax), count: profileIds.length }
  log.child({}, { level: 'info' }).info({ security, ...others, ...listed })
}

/** Warns, once at the start, of connections that others on the network can read. */
export function warnOfExposure(log: Log, { host, databaseUrl }: { host: string; databaseUrl: string }): void {
  if (!isLoopback(host)) {
    log.warn({ host }, 'listens beyond this machine without TLS: let a proxy that speaks TLS stand in front')
  }
  if (isReadableOnTheWay(databaseUrl)) {
    log.warn('reaches Postgres on another machine without TLS: add sslmode=verify-full to DATABASE_URL')
  }
}
