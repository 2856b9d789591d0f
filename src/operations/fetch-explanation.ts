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
  const { clientId, clientSecret, date, score } = request
  if (!scoreTypes.some((type) => type === score)) {
    throw new UsageProblem('explain score: there is none of that name', {
      hint: `Take one of ${scoreTypes.join(', ')}.`,
    })
  }
  if (!/^\d{4}-\d{2}-\d{2}$/.test(date)) {
    throw new UsageProblem('explain score: the date is none', { hint: 'Write a local day such as 2026-07-11.' })
  }
  const signal = AbortSignal.timeout(30_000)
  const authorization = await fetchAuthorization({ url: request.url, clientId, clientSecret }, signal)
  const response = await fetchOk(explanationUrl(request), { headers: { authorization }, signal })
  return (await response.json()) as Explanation // the body type of our service's route
}

const explanationUrl = ({ url, externalId, date, score }: ExplainOptions & { readonly url: string }) =>
  `${url}/api/v1/profile/explain/${encodeURIComponent(externalId)}?date=${date}&score=${score}`

async function fetchAuthorization({ url, ...body }: EngineAddresses['upstream'], signal: AbortSignal): Promise<string> {
  const token = await fetchOk(`${url}/api/v1/oauth/account/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal,
  })
  return `account ${accountTokenSchema.parse(await token.json()).accountToken}`
}

const lack = z.object({ input: z.string().max(50), minutes: z.int(), needed: z.int() })

/** Any upstream may answer here: what is no explanation of ours counts as none. */
const absenceSchema = z.object({
  value: z.number().nullable(),
  reason: z.string().max(500).nullable(),
  lacks: z.array(lack).max(10),
})

/** Why upstream has no score, in its words: which input lacked, and how many minutes of how many. */
export const upstreamReasonSchema = z.object({ scores: z.array(z.string()), reason: z.string(), lacks: z.array(lack) })
export type UpstreamReason = z.output<typeof upstreamReasonSchema>

/**
 * Asks upstream why the scores of a day are missing. An empty list where upstream does not explain, is not reached or takes longer than
 * five seconds: the caller goes on without it.
 */
export async function fetchUpstreamReasons(
  { externalId, date }: Omit<ExplainOptions, 'score'>,
  upstream: EngineAddresses['upstream'],
): Promise<UpstreamReason[]> {
  const signal = AbortSignal.timeout(REASONS_MAX_MS)
  try {
    const authorization = await fetchAuthorization(upstream, signal)
    const ask = async (score: string) => {
      const url = explanationUrl({ url: upstream.url, externalId, date, score })
      const response = await fetchOk(url, { headers: { authorization }, signal })
      return { score, ...absenceSchema.parse(await response.json()) }
    }
    // An upstream that does not explain is asked once.
    const [first, ...others] = scoreTypes
    const answers = [await ask(first), ...(await Promise.all(others.map(ask)))]
    const reasons = new Map<string, UpstreamReason>()
    for (const { score, value, reason, lacks } of answers) {
      if (value !== null || reason === null) continue
      const key = JSON.stringify([reason, lacks])
      reasons.set(key, { scores: [...(reasons.get(key)?.scores ?? []), score], reason, lacks })
    }
    return [...reasons.values()]
  } catch {
    return [] // an answer that nothing depends on
  }
}

const REASONS_MAX_MS = 5000

async function fetchOk(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init).catch(async (cause: unknown) => {
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
