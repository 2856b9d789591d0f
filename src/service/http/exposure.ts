import type { Log } from '../../base/log.ts'
import { isLoopback, isReadableOnTheWay } from '../../base/text/readable-address.ts'

/** Warns, once at the start, of connections that others on the network can read. */
export function warnOfExposure(log: Log, { host, databaseUrl }: { host: string; databaseUrl: string }): void {
  if (!isLoopback(host)) {
    log.warn({ host }, 'listens beyond this machine without TLS: let a proxy that speaks TLS stand in front')
  }
  if (isReadableOnTheWay(databaseUrl)) {
    log.warn('reaches Postgres on another machine without TLS: add sslmode=verify-full to DATABASE_URL')
  }
}
