import type { Finding } from '../base/connections/finding.ts'
import type { Log } from '../base/log.ts'
import { isReadableOnTheWay } from '../base/text/readable.ts'

type Addresses = {
  readonly databaseUrl?: string | undefined
  readonly queueUrl?: string | undefined
  readonly upstream?: { readonly url: string } | undefined
}

type ExposedConnection = { subject: string; text: string; hint: string }

/** The connections that others on the network can read: another machine, without TLS. */
function listExposed({ databaseUrl, queueUrl, upstream }: Addresses): ExposedConnection[] {
  const connections = [
    { subject: 'warehouse', address: databaseUrl, hint: 'Add sslmode=verify-full to DATABASE_URL.' },
    {
      subject: 'queue',
      address: queueUrl === databaseUrl ? undefined : queueUrl,
      hint: 'Write rediss:// in QUEUE_URL, or add sslmode=verify-full where it is a Postgres.',
    },
    { subject: 'upstream', address: upstream?.url, hint: 'Write https:// in UPSTREAM_URL.' },
  ]
  return connections
    .filter(({ address }) => address !== undefined && isReadableOnTheWay(address))
    .map(({ subject, hint }) => ({ subject, hint, text: 'is reached on another machine without TLS' }))
}

/** Warns once, at the start of a long-running process. */
export function warnOfExposedConnections(log: Log, addresses: Addresses): void {
  for (const { subject, text, hint } of listExposed(addresses)) log.warn({ connection: subject }, `${text}: ${hint}`)
}

/** The same for `vitalsync doctor`. */
export const exposureFindings = (addresses: Addresses): Finding[] =>
  listExposed(addresses).map((exposed) => ({ ...exposed, state: 'note' }))
