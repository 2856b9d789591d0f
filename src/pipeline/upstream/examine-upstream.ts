import { connectionFinding } from '../../base/connections/connection-problem.ts'
import { clockFinding, type Finding, well, wrong } from '../../base/connections/finding.ts'
import { receivedAccountTokenSchema } from '../../base/contract/authentication.ts'
import { operations } from '../../base/contract/operations.ts'
import { jsonOrUndefined } from '../../base/text/json.ts'
import { SECOND } from '../../base/time/units.ts'
import { answerKindOf } from './answer-rules.ts'
import { TransportError, transportDefaults } from './http.ts'
import { httpDateMsOf } from './retry-after.ts'
import { basePathOf, openTransport } from './transport.ts'

type UpstreamAddress = {
  readonly subject: string
  readonly url: string
  readonly clientId: string
  readonly clientSecret: string
}

const EXAMINE_TIMEOUT_MS = 8 * SECOND

/** Asks upstream once for an account token, and examines the answer and upstream's clock. Does not use the token. */
export async function examineUpstream({ subject, url, clientId, clientSecret }: UpstreamAddress): Promise<Finding[]> {
  const transport = openTransport(url, { ...transportDefaults, connectionsMax: 1, totalTimeoutMs: EXAMINE_TIMEOUT_MS })
  try {
    const { status, date, body } = await transport.send({
      method: 'POST',
      path: basePathOf(url) + operations.accountToken.path,
      headers: ['content-type', 'application/json', 'accept', 'application/json'],
      body: JSON.stringify({ clientId, clientSecret }),
    })
    const dateMs = httpDateMsOf(date)
    // The Date header has whole seconds: on average half a second is missing.
    const clock = dateMs === undefined ? [] : [clockFinding(subject, dateMs + 500 - Date.now())]
    const isToken = receivedAccountTokenSchema.safeParse(jsonOrUndefined(body.toString('utf8'))).success
    return [credentialsFinding(subject, { status, isToken }), ...clock]
  } catch (error) {
    const cause = error instanceof TransportError ? (error.cause ?? error) : error
    return [await connectionFinding(subject, { kind: 'the Profile Service', url, variable: 'UPSTREAM_URL' }, cause)]
  } finally {
    await transport.close()
  }
}

function credentialsFinding(
  subject: string,
  { status, isToken }: { readonly status: number; readonly isToken: boolean },
): Finding {
  const kind = answerKindOf({ operation: operations.accountToken }, status)
  if (kind === 'json' && isToken) return well(subject, 'it takes the credentials')
  if (status >= 200 && status < 300) {
    const hint = 'Something between here and upstream may be answering in its place: a proxy, or a page to sign in.'
    return wrong(subject, `it answers ${status} without a token`, hint)
  }
  if (status === 400 || status === 401 || status === 403) {
    const hint = 'Correct UPSTREAM_CLIENT_ID and UPSTREAM_CLIENT_SECRET; see that they belong to this environment.'
    return wrong(subject, `it refuses the credentials (${status})`, hint)
  }
  if (status === 404) {
    const hint = 'UPSTREAM_URL must be the base address, without /api/v1.'
    return wrong(subject, 'it answers, but is no Profile Service (404)', hint)
  }
  const hint = 'It is in trouble itself, or limits us: try again in a few minutes.'
  return { subject, state: 'unreachable', text: `it answers ${status}`, hint }
}
