import type { Log } from '../log.ts'

/** Whether a host name or address means this machine alone. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/i.test(host)
}

/** Warns, once at the start, of connections that others on the network can read. */
export function warnOfExposure(log: Log, { host, databaseUrl }: { host: string; databaseUrl: string }): void {
  if (!isLoopback(host)) {
    log.warn({ host }, 'listens beyond this machine without TLS: let a proxy that speaks TLS stand in front')
  }
  const { hostname, searchParams } = new URL(databaseUrl)
  const isLocal = hostname === '' || isLoopback(hostname) || searchParams.get('host')?.startsWith('/') === true
  const speaksTls = /^(require|verify-ca|verify-full|no-verify)$/.test(searchParams.get('sslmode') ?? '')
  if (!isLocal && !speaksTls) {
    log.warn('reaches Postgres on another machine without TLS: add sslmode=verify-full to DATABASE_URL')
  }
}
