import type { Explanation } from '../base/contract/score-explanation.ts'
import { formatCount, formatMinute } from '../base/text/readable.ts'
import type { DayReport, DayState } from '../pipeline/warehouse/reports/day-report.ts'
import { causeSentence, causeStep } from './cause-text.ts'
import type { UpstreamReason } from './fetch-explanation.ts'

export function reportLines(report: DayReport & { readonly upstreamSays?: readonly UpstreamReason[] }): string[] {
  const { externalId, stream, localDate, state, reason, rows, settled } = report
  const stateText = state === 'data' ? formatCount(rows, 'record') : state.replace('_', ' ')
  const answer = `${stream} of ${externalId} on ${localDate}: ${stateText}${reason === '' ? '' : `: ${reason}`}`
  // A day that is there and settled needs no further text.
  if (settled && state === 'data' && reason === '') return [answer]
  const evidence = [...evidenceLines(report), ...(report.upstreamSays ?? []).map(upstreamLine)]
  return [answer, ...evidence.map((line) => `  ${line}`), `  → ${whatToDo(report)}`]
}

/** Upstream's own answer, beside ours. */
const upstreamLine = ({ scores, ...said }: UpstreamReason): string =>
  `upstream says of ${scores.join(', ')}: ${reasonText(said)}`

/** The reason of a missing score, and for each input the minutes that are known and the minutes that are needed. */
export function reasonText({ reason, lacks }: Pick<Explanation, 'reason' | 'lacks'>): string {
  const minutes = lacks.map(
    ({ input, minutes, needed }) => `${input}: ${minutes} of ${formatCount(needed, 'minute')} needed`,
  )
  return [reason ?? '', ...minutes].join('; ')
}

/** The evidence of the answer, a line each. */
export function evidenceLines(report: DayReport): string[] {
  const { readAt, nextReadAt, state, settled, runId, coveredFrom, coveredTo, itemsWaiting, refusals, quarantined } =
    report
  const { cause, causeEvidence } = report
  return [
    ...(cause === null ? [] : [`${cause}: ${causeSentence(cause, causeEvidence ?? {})}`]),
    readAt ? `last read ${formatMinute(readAt)} UTC${runId ? `, last run ${runId}` : ''}` : 'never read',
    ...(nextReadAt && !settled && state !== 'refused'
      ? [`read again ${formatMinute(nextReadAt)} UTC at the latest, where a scheduler and a worker run`]
      : []),
    ...(coveredFrom && coveredTo
      ? [`covered from ${formatMinute(coveredFrom)} to ${formatMinute(coveredTo)} UTC`]
      : []),
    ...(itemsWaiting > 0 ? [`${formatCount(itemsWaiting, 'item')} around it waiting to be pushed`] : []),
    ...refusals.map(
      ({ status, reason, attempts, firstAt, nextTryAt }) =>
        `refused since ${formatMinute(firstAt)} UTC, ${formatCount(attempts, 'attempt')}${status ? `, status ${status}` : ''}: ${reason}` +
        (nextTryAt ? `; asked again ${formatMinute(nextTryAt)} UTC` : ''),
    ),
    ...quarantined.map(({ id, path, reason }) => `quarantined as ${id}: ${path === '' ? '' : `${path} `}${reason}`),
  ]
}

/** The command that helps, or a text that no action is needed. */
export function whatToDo(report: DayReport): string {
  const { externalId, stream, localDate, state, itemsWaiting, cause, causeEvidence } = report
  if (itemsWaiting > 0) return 'vitalsync sync pushes what waits, and reads the day again'
  const readAgain = `vitalsync backfill --again --from ${localDate} --to ${localDate}T23:59:59Z --profile ${externalId} --stream ${stream}`
  const readSooner = `nothing to do: it is read again automatically. At once: vitalsync sync --profile ${externalId} --stream ${stream}`
  const steps: Readonly<Record<DayState, string>> = {
    data: readSooner,
    empty:
      (cause && causeStep(cause, causeEvidence ?? {})) ??
      `nothing to do. If it should be there, ask upstream again: ${readAgain}`,
    unsettled: readSooner,
    never_read: 'vitalsync sync asks for it',
    refused: `vitalsync failures list --profile ${externalId} tells more; vitalsync failures retry asks again now`,
    quarantined: 'vitalsync quarantine show <id> shows the record; vitalsync quarantine replay <id> tries it again',
    erased_upstream: `the former records are in warehouse.history. Ask upstream again: ${readAgain}`,
  }
  return steps[state]
}
