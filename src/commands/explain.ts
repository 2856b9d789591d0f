import { scoreTypes } from '../contract/score.ts'
import { EngineUnreachable, Problem, UsageProblem } from '../errors.ts'
import type { ExplainedFactor, ExplainedLog, Explanation } from '../service/derive/explain.ts'

export type ExplainCommand = {
  /** Where the Profile Service answers, and the account to ask it as. */
  url: string
  clientId: string
  clientSecret: string
  externalId: string
  /** A local day, `2026-07-11`. */
  date: string
  score: string
}

/** Asks the Profile Service where a score comes from. Only ours can tell: the route is none of the 28 operations. */
export async function explain(command: ExplainCommand): Promise<Explanation> {
  if (!scoreTypes.some((type) => type === command.score)) {
    throw new UsageProblem(`explain score: there is none of that name`, {
      hint: `Take one of ${scoreTypes.join(', ')}.`,
    })
  }
  if (!/^\d{4}-\d{2}-\d{2}$/.test(command.date)) {
    throw new UsageProblem('explain score: the date is none', { hint: 'Write a local day such as 2026-07-11.' })
  }
  const { clientId, clientSecret, externalId, date, score } = command
  const token = await ask(`${command.url}/api/v1/oauth/account/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ clientId, clientSecret }),
  })
  const { accountToken } = Object(await token.json()) as { accountToken?: string }
  const path = `/api/v1/profile/explain/${encodeURIComponent(externalId)}?date=${date}&score=${score}`
  const answer = await ask(command.url + path, { headers: { authorization: `account ${accountToken}` } })
  // Ours on both sides: the type is that of the route which wrote it.
  return (await answer.json()) as Explanation
}

async function ask(url: string, init: RequestInit): Promise<Response> {
  const answer = await fetch(url, { ...init, signal: AbortSignal.timeout(30_000) }).catch((cause: unknown) => {
    throw new EngineUnreachable('explain score: the Profile Service does not answer', {
      cause,
      hint: 'Check UPSTREAM_URL, or start a sandbox with `vitalsync sandbox`.',
    })
  })
  if (answer.ok) return answer
  if (answer.status === 401) {
    throw new UsageProblem('explain score: the Profile Service refuses the credentials', {
      hint: 'Check UPSTREAM_CLIENT_ID and UPSTREAM_CLIENT_SECRET.',
    })
  }
  throw new Problem(`explain score: the Profile Service answers ${answer.status}`, {
    hint: 'Either it has no such profile, or it is not this project’s service, which alone can explain.',
  })
}

/** The explanation as lines for a terminal. */
export function explanationLines(explanation: Explanation): string[] {
  const { score, date, value, state, coverage, modelVersion, reason, factors, missing, used, leftOut } = explanation
  const head =
    value === null
      ? `${score} on ${date}: no score, because ${reason}`
      : `${score} on ${date}: ${value.toFixed(2)} (${state}), from ${Math.round(coverage * 100)} % of its weight, model ${modelVersion}`
  return [
    head,
    explanation.notice,
    '',
    ...table([['factor', 'value', 'goal', 'unit', 'score', 'weight', 'contribution'], ...factors.map(factorCells)]),
    ...missing.map(({ name, weight, reason }) => `${name}: none, because ${reason} (weight ${weight})`),
    '',
    `logs of the day behind it: ${used.length}`,
    ...table(used.map((log) => [...logCells(log), `counts ${log.amount ?? log.value}`])),
    '',
    `logs of the day left out: ${leftOut.length}`,
    ...table(leftOut.map((log) => [...logCells(log), log.reason ?? ''])),
  ]
}

function factorCells({ name, value, goal, unit, score, weight, contribution, basis }: ExplainedFactor): string[] {
  const share = weight === 0 ? '-' : weight.toFixed(3)
  const added = weight === 0 ? '-' : contribution.toFixed(3)
  return [name, String(value), String(goal) + (basis ? ` (${basis})` : ''), unit, score.toFixed(2), share, added]
}

function logCells({ dataType, source, deviceType, startDateTime, endDateTime, value }: ExplainedLog): string[] {
  return [dataType, `${startDateTime} to ${endDateTime}`, `${source} (${deviceType})`, String(value)]
}

function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
