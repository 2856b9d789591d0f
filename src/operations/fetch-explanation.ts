import { z } from 'zod'
import { connectionProblem } from '../base/connections/connection-problem.ts'
import { scoreTypes } from '../base/contract/score.ts'
import { Problem, UsageProblem } from '../base/errors.ts'
import type { Explanation } from '../service/derive/records/explanation.ts'
import type { EngineAddresses } from './addresses.ts'

const accountTokenSchema = z.object({ accountToken: z.string() })

export type ExplainOptions = {
  readonly externalId: string
  /** A local day, `2026-07-11`. */
  readonly date: string
  readonly score: string
}

/** Where the Profile Service answers, and the account that asks it. */
type ExplanationRequest = ExplainOptions & Pick<EngineAddresses['upstream'], 'url' | 'clientId' | 'clientSecret'>

/** Asks the Profile Service where a score comes from. The route is not one of the 28 operations: only our service has it. */
export async function fetchExplanation(request: ExplanationRequest): Promise<Explanation> {
  const { clientId, clientSecret, externalId, date, score } = request
  if (!scoreTypes.some((type) => type === score)) {
    throw new UsageProblem('explain score: there is none of that name', {
      hint: `Take one of ${scoreTypes.join(', ')}.`,
    })
  }
  if (!/^\d{4}-\d{2}-\d{2}$/.test(date)) {
    throw new UsageProblem('explain score: the date is none', { hint: 'Write a local day such as 2026-07-11.' })
  }
  const token = await fetchOk(`${request.url}/api/v1/oauth/account/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ clientId, clientSecret }),
  })
  const { accountToken } = accountTokenSchema.parse(await token.json())
  const path = `/api/v1/profile/explain/${encodeURIComponent(externalId)}?date=${date}&score=${score}`
  const response = await fetchOk(request.url + path, { headers: { authorization: `account ${accountToken}` } })
  return (await response.json()) as Explanation // the body type of our service's route
}

async function fetchOk(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, { ...init, signal: AbortSignal.timeout(30_000) }).catch(async (cause: unknown) => {
    const { origin } = new URL(url)
    throw await connectionProblem({ kind: 'the Profile Service', url: origin, variable: 'UPSTREAM_URL' }, cause)
  })
  if (response.ok) return response
  if (response.status === 401) {
    throw new UsageProblem('explain score: the Profile Service refuses the credentials', {
      hint: 'Check UPSTREAM_CLIENT_ID and UPSTREAM_CLIENT_SECRET.',
    })
  }
  // A person or a route that is not there was named wrongly.
  const Fault = response.status === 404 ? UsageProblem : Problem
  throw new Fault(`explain score: the Profile Service answers ${response.status}`, {
    hint: 'Either it has no such profile, or it is not this project’s service, which alone can explain.',
  })
}
