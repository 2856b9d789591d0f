import { operations } from '../contract/operations.ts'
import { clockFinding, type Finding } from '../finding.ts'
import { httpDateMs } from './retry-after.ts'
import { openTransport, TransportTrouble, transportDefaults } from './transport.ts'

export type ExaminedUpstream = {
  readonly subject: string
  readonly url: string
  readonly clientId: string
  readonly clientSecret: string
}

const ANSWER_TIMEOUT_MS = 8000

/** Asks upstream for an account token, once, and looks at the answer and at its clock. The token is thrown away. */
export async function examineUpstream({ subject, url, clientId, clientSecret }: ExaminedUpstream): Promise<Finding[]> {
  const transport = openTransport(url, { ...transportDefaults, connections: 1, totalMs: ANSWER_TIMEOUT_MS })
  try {
    const { status, date } = await transport.send({
      method: 'POST',
      path: new URL(url).pathname.replace(/\/+$/, '') + operations.accountToken.path,
      headers: ['content-type', 'application/json', 'accept', 'application/json'],
      body: JSON.stringify({ clientId, clientSecret }),
    })
    const dateMs = httpDateMs(date)
    // The Date header is cut to seconds: on average half of one is missing.
    const clock = dateMs === undefined ? [] : [clockFinding(subject, dateMs + 500 - Date.now())]
    return [credentials(subject, status), ...clock]
  } catch (error) {
    const why = error instanceof TransportTrouble ? error.code : (error as Error).message
    const hint = 'See that it runs and that UPSTREAM_URL is right; behind a proxy, that this host may go out.'
    return [{ subject, state: 'unreachable', text: `does not answer: ${why}`, hint }]
  } finally {
    await transport.close()
  }
}

function credentials(subject: string, status: number): Finding {
  if (status >= 200 && status < 300) return { subject, state: 'well', text: 'it takes the credentials' }
  if (status === 400 || status === 401 || status === 403) {
    const hint = 'Mend UPSTREAM_CLIENT_ID and UPSTREAM_CLIENT_SECRET; see that they belong to this environment.'
    return { subject, state: 'wrong', text: `it refuses the credentials (${status})`, hint }
  }
  if (status === 404) {
    const hint = 'UPSTREAM_URL must be the base address, without /api/v1.'
    return { subject, state: 'wrong', text: 'it answers, but is no Profile Service (404)', hint }
  }
  const hint = 'It is in trouble itself, or limits us: try again in a few minutes.'
  return { subject, state: 'unreachable', text: `it answers ${status}`, hint }
}
