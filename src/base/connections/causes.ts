/** The kinds of servers that vitalsync connects to, by their names for people. */
export type ServerKind = 'Postgres' | 'Redis' | 'the Profile Service'

/**
 * Why a server cannot be used: one table for every command, for the doctor and for docs/reference/connections.md. `words` follow the
 * address, `hint` says what to do next: `{variable}` is the variable that holds the address. `code` 3: the server or the network
 * must come back, and waiting may be enough. 2: address, credentials, rights or server are the wrong ones.
 */
type CauseEntry = { readonly words: string; readonly hint: string; readonly code: 2 | 3 }

export const connectionCauses = {
  refused: {
    words: 'nothing listens there',
    hint: 'Start the server, or correct host and port in {variable}.',
    code: 3,
  },
  'unknown-host': {
    words: 'there is no host of this name',
    hint: 'Correct the name in {variable}, or see that this machine’s DNS knows it.',
    code: 3,
  },
  dns: {
    words: 'the name cannot be looked up: DNS does not answer',
    hint: 'See that this machine has a network and a DNS server that answers; the address is in {variable}.',
    code: 3,
  },
  'no-route': {
    words: 'no way leads there from this machine',
    hint: 'See that the network (VPN, routes) of this machine reaches the host in {variable}.',
    code: 3,
  },
  timeout: {
    words: 'the connection was not made in time',
    hint: 'See that the host in {variable} is up, and that no firewall between here and there swallows the packets.',
    code: 3,
  },
  silent: {
    words: 'it takes the connection and then says nothing',
    hint: 'The server may hang or be overloaded, or something else may listen there: look at the server, and at {variable}.',
    code: 3,
  },
  cut: {
    words: 'it ended the connection',
    hint: 'The server may be restarting, or refuse this machine: its own log says why. The address is in {variable}.',
    code: 3,
  },
  starting: {
    words: 'it is starting or shutting down',
    hint: 'Wait until it is up, and give the same command again.',
    code: 3,
  },
  full: {
    words: 'it has no connection left',
    hint: 'Raise its limit of connections (Postgres: max_connections, Redis: maxclients), or end other programs.',
    code: 3,
  },
  'no-room': {
    words: 'it has no memory or disk left to write',
    hint: 'Free memory (Redis: maxmemory) or disk at the server in {variable}, and give the same command again.',
    code: 3,
  },
  standby: {
    words: 'it is a standby that only reads',
    hint: 'Point {variable} at the primary, or wait until the failover is done.',
    code: 3,
  },
  locked: {
    words: 'another session held the lock of something that this needs',
    hint: 'Give the same command again. If it says the same again, pg_blocking_pids of the server tells who holds the lock.',
    code: 3,
  },
  slow: {
    words: 'a statement took too long',
    hint: 'The server may be overloaded: look at it, and give the same command again.',
    code: 3,
  },
  'no-tls': {
    words: 'it speaks no TLS, and the address asks for it',
    hint: 'Turn TLS on at the server; on a network that you trust take sslmode or the s of rediss:// and https:// out of {variable}.',
    code: 2,
  },
  'needs-tls': {
    words: 'it lets nobody in without TLS',
    hint: 'Ask for TLS in {variable}: sslmode=verify-full for Postgres, rediss:// for Redis, https:// for the Profile Service.',
    code: 2,
  },
  certificate: {
    words: 'its certificate is not trusted',
    hint: 'It is self-signed, out of date or for another name. Give its authority: NODE_EXTRA_CA_CERTS=FILE, for Postgres also sslrootcert=FILE in {variable}.',
    code: 2,
  },
  credentials: {
    words: 'it refuses user or password',
    hint: 'Correct user and password in {variable}; characters such as @ : / # must be percent-encoded there.',
    code: 2,
  },
  'not-let-in': {
    words: 'it does not let this role or this machine in',
    hint: 'The pg_hba.conf of the server says who may come from where: add a line for this role, and reload.',
    code: 2,
  },
  'no-database': {
    words: 'it has no database of this name',
    hint: 'Correct the name in {variable}, or create it, owned by the role of the address: create database … owner ….',
    code: 2,
  },
  'no-rights': {
    words: 'the role has no right to do this',
    hint: 'Connect as the role that owns the database (alter database … owner to …); Redis: acl setuser … +@all ~*. The role is in {variable}.',
    code: 2,
  },
  'too-old': {
    words: 'it is too old',
    hint: 'Postgres 15, Redis 6.2 or Valkey are the oldest that work: upgrade it, or point {variable} at another server.',
    code: 2,
  },
  'wrong-kind': {
    words: 'another kind of server answers there',
    hint: 'Correct host, port and the beginning of {variable}.',
    code: 2,
  },
  unknown: {
    words: 'it cannot be used',
    hint: 'Its own log may say more. The address is in {variable}; `vitalsync doctor` tries every connection.',
    code: 3,
  },
} as const satisfies Record<string, CauseEntry>

export type ConnectionCause = keyof typeof connectionCauses

/** The next step, with the variable that holds the address. */
export const connectionHint = (cause: ConnectionCause, variable: string): string =>
  connectionCauses[cause].hint.replace('{variable}', variable)

const causesByCode: Readonly<Record<string, ConnectionCause>> = {
  ECONNREFUSED: 'refused',
  ENOENT: 'refused', // a Unix socket that is not there
  ENOTFOUND: 'unknown-host',
  EAI_AGAIN: 'dns',
  EHOSTUNREACH: 'no-route',
  ENETUNREACH: 'no-route',
  EADDRNOTAVAIL: 'no-route',
  ETIMEDOUT: 'timeout',
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  UND_ERR_HEADERS_TIMEOUT: 'silent',
  ECONNRESET: 'cut',
  EPIPE: 'cut',
  UND_ERR_SOCKET: 'cut',
  EPROTO: 'no-tls',
  '28P01': 'credentials',
  '28000': 'not-let-in',
  '3D000': 'no-database',
  '42501': 'no-rights',
  '25006': 'standby',
  '53300': 'full',
  '57P01': 'starting',
  '57P02': 'starting',
  '57P03': 'starting',
}

/** The words of servers and libraries that give no code. Tried in this order, before the codes. */
const causesByWords: ReadonlyArray<readonly [RegExp, ConnectionCause]> = [
  [/no encryption|SSL off|requires? (SSL|TLS)/i, 'needs-tls'],
  [/does not support SSL|wrong version number|packet length too long/i, 'no-tls'],
  [
    /WRONGPASS|NOAUTH|invalid username|invalid password|SASL|password must be a string|without any password/i,
    'credentials',
  ],
  [/NOPERM/, 'no-rights'],
  [/READONLY/, 'standby'],
  [/LOADING|MASTERDOWN|CLUSTERDOWN/, 'starting'],
  [/^\s*(OOM|MISCONF) /, 'no-room'],
  [/max number of clients/i, 'full'],
  [/needs to be greater or equal than|too old/i, 'too-old'],
  [/Protocol error|Expected HTTP|unknown command|HPE_/i, 'wrong-kind'],
  [/self[- ]signed|certificate|altnames/i, 'certificate'],
  [/no answer within|not answered for|command timed out/i, 'silent'],
  [/due to lock timeout|deadlock detected/, 'locked'],
  [/due to statement timeout/, 'slow'],
  [/timeout|timed out/i, 'timeout'],
  [
    /max retries per request|due to connection close|Connection (terminated|is closed)|is not queryable|socket (hang up|disconnected)|other side closed/i,
    'cut',
  ],
]

/** The cause that an error of a library names. Its own words are for no person: they are compared here, and go no further. */
export function connectionCauseOf(error: unknown): ConnectionCause {
  for (const { code, message } of errorsWithin(error)) {
    const named = causesByWords.find(([words]) => words.test(`${code} ${message}`))
    const cause = named?.[1] ?? causesByCode[code] ?? (isCertificateCode(code) ? 'certificate' : undefined)
    if (cause) return cause
  }
  return 'unknown'
}

const isCertificateCode = (code: string) => /CERT|ERR_TLS|UNABLE_TO_|SELF_SIGNED/.test(code)

const DEPTH_MAX = 5

/** The error itself, the errors of the single addresses of a name, and what they were caused by. */
function errorsWithin(error: unknown, depth = 0): Array<{ code: string; message: string }> {
  if (!(error instanceof Error) || depth > DEPTH_MAX) return []
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  const inner = [
    ...(error instanceof AggregateError ? error.errors : []),
    ...('lastNodeError' in error ? [error.lastNodeError] : []),
    error.cause,
  ]
  return [{ code, message: error.message }, ...inner.flatMap((cause) => errorsWithin(cause, depth + 1))]
}
