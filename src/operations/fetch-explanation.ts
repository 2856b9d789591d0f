import { z } from 'zod'
import { scoreTypes } from '../base/contract/score.ts'
import { type Explanation, explanationSchema } from '../base/contract/score-explanation.ts'
import { NotThere, UsageProblem } from '../base/errors.ts'
import { SECOND } from '../base/time/units.ts'
import type { UpstreamApi } from '../pipeline/upstream/api.ts'

type ExplainOptions = {
  readonly externalId: string
  /** A local day, `2026-07-11`. */
  readonly date: string
  readonly score: string
}

const EXPLANATION_MAX_MS = 30 * SECOND

/** Asks upstream where a score comes from. Only our service answers. */
export async function fetchExplanation(
  upstream: Pick<UpstreamApi, 'explain'>,
  options: ExplainOptions,
): Promise<Explanation> {
  if (!scoreTypes.some((type) => type === options.score)) {
    throw new UsageProblem('explain score: there is none of that name', {
      hint: `Take one of ${scoreTypes.join(', ')}.`,
    })
  }
  if (!/^\d{4}-\d{2}-\d{2}$/.test(options.date)) {
    throw new UsageProblem('explain score: the date is none', { hint: 'Write a local day such as 2026-07-11.' })
  }
  const call = { lane: 'manual', signal: AbortSignal.timeout(EXPLANATION_MAX_MS) } as const
  return upstream.explain(options, call).catch((error: unknown) => {
    // A person or a route that is not there was named wrongly.
    if (!(error instanceof NotThere)) throw error
    throw new UsageProblem('explain score: the Profile Service answers 404', {
      hint: 'Either it has no such profile, or it is not this project’s service, which alone can explain.',
      cause: error,
    })
  })
}

/** Why upstream has no score, in its words: which input lacked, and how many minutes of how many. */
export const upstreamReasonSchema = z.object({
  scores: z.array(z.string()),
  reason: z.string(),
  lacks: explanationSchema.shape.lacks,
})
export type UpstreamReason = z.output<typeof upstreamReasonSchema>

const REASONS_MAX_MS = 5 * SECOND

/**
 * Asks upstream why the scores of a day are missing. An empty list where upstream does not explain, is not reached or takes longer than
 * five seconds: the caller goes on without it.
 */
export async function fetchUpstreamReasons(
  upstream: Pick<UpstreamApi, 'explain'>,
  { externalId, date }: Omit<ExplainOptions, 'score'>,
): Promise<UpstreamReason[]> {
  const call = { lane: 'manual', signal: AbortSignal.timeout(REASONS_MAX_MS) } as const
  const reasons = new Map<string, UpstreamReason>()
  try {
    // One by one: an upstream that does not explain is asked once.
    for (const score of scoreTypes) {
      const { value, reason, lacks } = await upstream.explain({ externalId, date, score }, call)
      if (value !== null || reason === null) continue
      const key = JSON.stringify([reason, lacks])
      reasons.set(key, { scores: [...(reasons.get(key)?.scores ?? []), score], reason, lacks })
    }
    return [...reasons.values()]
  } catch {
    return [] // an answer that nothing depends on
  }
}
