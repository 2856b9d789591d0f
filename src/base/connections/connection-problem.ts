import { EngineUnreachable } from '../errors.ts'
import { firstAddress } from '../text/readable.ts'
import { type ConnectionCause, connectionCauseOf, connectionCauses, connectionHint, type ServerKind } from './causes.ts'
import type { Finding } from './finding.ts'
import { isOwnServer, OWN_HINT } from './own-server.ts'
import { answersAsPostgres, probeServer } from './probe-server.ts'

/** A server to use: its kind, its address, and the variable that holds the address. */
export type ServerAddress = { readonly kind: ServerKind; readonly url: string; readonly variable: string }

/** Causes after which probing the server says more than the library's error. */
const ambiguous: ReadonlySet<ConnectionCause> = new Set(['timeout', 'silent', 'cut', 'wrong-kind', 'unknown'])

/** Says why a server cannot be used, in words of our own. An ambiguous error is followed by a look at the server. */
async function diagnoseConnection(server: ServerAddress, error: unknown) {
  const first = connectionCauseOf(error)
  const { cause, found } = ambiguous.has(first) ? await lookAgain(server, first) : { cause: first, found: undefined }
  const entry = connectionCauses[cause]
  return {
    cause,
    text: `${found === undefined ? entry.words : `${found} answers there, not ${server.kind}`}`,
    hint: isOwnServer(server.url) ? OWN_HINT : connectionHint(cause, server.variable),
    code: entry.code,
  }
}

type SecondLook = { readonly cause: ConnectionCause; readonly found: string | undefined }

async function lookAgain(server: ServerAddress, first: ConnectionCause): Promise<SecondLook> {
  if (hostAndPortOf(server).port === 0) return { cause: first, found: undefined }
  const found = await probeServer(hostAndPortOf(server))
  const isOfKind = found === (server.kind === 'the Profile Service' ? 'a web server' : server.kind)
  // A connection that was cut, to a server that is gone by now.
  if (found === 'nothing') return { cause: first === 'cut' ? 'refused' : first, found: undefined }
  if (found === 'silence') return { cause: first === 'timeout' ? 'silent' : first, found: undefined }
  if (found === 'Redis' && server.url.startsWith('rediss:')) return { cause: 'no-tls', found: undefined }
  // Behind TLS every server looks alike.
  if (isOfKind || usesTls(server)) return { cause: first, found: undefined }
  return { cause: 'wrong-kind', found: found === 'another server' ? undefined : found }
}

/** Whether a Postgres answers at this address, and soon. */
export async function isAnswering(server: ServerAddress): Promise<boolean> {
  const { host, port } = hostAndPortOf(server)
  if (port !== 0) return answersAsPostgres({ host, port })
  const socketPort = firstAddress(server.url).searchParams.get('port') ?? '5432'
  return answersAsPostgres({ path: `${host}/.s.PGSQL.${socketPort}` })
}

const usesTls = ({ url }: ServerAddress): boolean => /^(https|rediss):|[?&]ssl(mode)?=/.test(url)

/** As an error of a command, with the address and without the secrets in it. */
export async function connectionProblem(server: ServerAddress, error: unknown): Promise<EngineUnreachable> {
  const { text, hint, code } = await diagnoseConnection(server, error)
  return new EngineUnreachable(`reach ${server.kind} at ${addressText(server)}: ${text}`, {
    hint,
    cause: error,
    isConfiguration: code === 2,
  })
}

/** As a finding of the doctor. */
export async function connectionFinding(subject: string, server: ServerAddress, error: unknown): Promise<Finding> {
  const { text, hint, code } = await diagnoseConnection(server, error)
  return {
    subject,
    state: code === 2 ? 'wrong' : 'unreachable',
    text: `${server.kind} at ${addressText(server)}: ${text}`,
    hint,
  }
}

const defaultPorts: Readonly<Record<string, number>> = {
  'postgres:': 5432,
  'postgresql:': 5432,
  'redis:': 6379,
  'rediss:': 6379,
  'http:': 80,
  'https:': 443,
}

/** The first of several addresses. */
function hostAndPortOf({ url }: ServerAddress): { host: string; port: number } {
  const { protocol, hostname, port, searchParams } = firstAddress(url)
  const socketFolder = searchParams.get('host')
  if (hostname === '' && socketFolder) return { host: socketFolder, port: 0 }
  return { host: hostname.replace(/^\[|\]$/g, '') || 'localhost', port: Number(port) || (defaultPorts[protocol] ?? 0) }
}

/** Host, port and database: no user, no password. */
function addressText(server: ServerAddress): string {
  const { host, port } = hostAndPortOf(server)
  const others = server.url.split(',').length - 1
  const path = firstAddress(server.url).pathname.replace(/\/$/, '')
  const isHttp = server.kind === 'the Profile Service'
  const shownHost = host.includes(':') ? `[${host}]` : host
  if (port === 0) return `${host}${path}`
  return `${shownHost}:${port}${isHttp ? '' : path}${others > 0 ? ` (and ${others} more)` : ''}`
}
