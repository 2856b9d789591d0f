import { z } from 'zod'
import type { EngineAddresses } from '../assembly/addresses.ts'
import { type CommandContext, exitCodes } from '../assembly/command-context.ts'
import { withPipeline } from '../assembly/with-pipeline.ts'
import { connectionProblem } from '../connections/connection-problem.ts'
import { scoreTypes } from '../contract/score.ts'
import { Problem, UsageProblem } from '../errors.ts'
import type { ExplainedLogGroup } from '../service/derive/records/explained-logs.ts'
import type { ExplainedFactor, Explanation } from '../service/derive/records/explanation.ts'

const accountTokenSchema = z.object({ accountToken: z.string() })

type ExplainOptions = {
  readonly externalId: string
  /** A local day, `2026-07-11`. */
  readonly date: string
  readonly score: string
}

/** Where the Profile Service answers, and the account that asks it. */
type ExplanationRequest = ExplainOptions & Pick<EngineAddresses['upstream'], 'url' | 'clientId' | 'clientSecret'>

/** Prints where a score comes from. */
export async function runExplain(context: CommandContext, options: ExplainOptions): Promise<number> {
  const { terminal } = context
  const found = await withPipeline(context, ({ addresses: { upstream } }) =>
    fetchExplanation({ ...upstream, ...options }),
  )
  if (terminal.json) terminal.printJson('explain', found)
  else terminal.print(explanationLines(found).join('\n'))
  return exitCodes.done
}

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

/** The explanation as lines for a terminal. */
export function explanationLines(explanation: Explanation): string[] {
  const { score, date, value, state, coverage, modelVersion, reason, factors, missing } = explanation
  const head =
    value === null
      ? `${score} on ${date}: no score, because ${reason}`
      : `${score} on ${date}: ${value.toFixed(2)} (${state}), from ${Math.round(coverage * 100)} % of its weight, model ${modelVersion}`
  return [
    head,
    explanation.notice,
    '',
    ...alignColumns([
      ['factor', 'value', 'goal', 'unit', 'score', 'weight', 'contribution'],
      ...factors.map(factorCells),
    ]),
    ...missing.map(({ name, weight, reason }) => `${name}: none, because ${reason} (weight ${weight})`),
    '',
    `logs of the day behind it: ${explanation.usedCount}`,
    ...alignColumns(explanation.usedGroups.map(groupCells)),
    '',
    `logs of the day left out: ${explanation.leftOutCount}`,
    ...alignColumns(explanation.leftOutGroups.map(groupCells)),
  ]
}

function factorCells({ name, value, goal, unit, score, weight, contribution, basis }: ExplainedFactor): string[] {
  const share = weight === 0 ? '-' : weight.toFixed(3)
  const added = weight === 0 ? '-' : contribution.toFixed(3)
  return [name, String(value), String(goal) + (basis ? ` (${basis})` : ''), unit, score.toFixed(2), share, added]
}

/** Logs of one kind, source and reason are one line. */
function groupCells({ dataType, source, deviceType, count, startDateTime, endDateTime, ...group }: ExplainedLogGroup) {
  const told = group.reason ?? (group.amount === undefined ? '' : `counts ${group.amount}`)
  return [`${count} ×`, dataType, `${startDateTime} to ${endDateTime}`, `${source} (${deviceType})`, told]
}

function alignColumns(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
