import type { ExplainedFactor, ExplainedLogGroup, Explanation } from '../../../base/contract/score-explanation.ts'
import { reasonText } from '../../../operations/day-report-text.ts'
import { fetchExplanation } from '../../../operations/fetch-explanation.ts'
import type { CommandContext } from '../../terminal/command-context.ts'
import { printResult } from '../../terminal/print-result.ts'
import { formatTable } from '../../terminal/table.ts'
import { withUpstream } from '../../with-pipeline.ts'

/** Prints where a score comes from. */
export async function runExplain(
  context: CommandContext,
  { profile: externalId, date, score }: { profile: string; date: string; score: string },
): Promise<void> {
  const found = await withUpstream(context, (upstream) => fetchExplanation(upstream, { externalId, date, score }))
  printResult(context.terminal, ['explain', found], explanationLines(found))
}

/** The explanation as lines for a terminal. */
export function explanationLines(explanation: Explanation): string[] {
  const { score, date, value, state, coverage, modelVersion, reason, lacks, factors, missing } = explanation
  const head =
    value === null
      ? `${score} on ${date}: no score, because ${reasonText({ reason, lacks })}`
      : `${score} on ${date}: ${value.toFixed(2)} (${state}), from ${Math.round(coverage * 100)} % of its weight, model ${modelVersion}`
  return [
    head,
    explanation.notice,
    '',
    formatTable(['factor', 'value', 'goal', 'unit', 'score', 'weight', 'contribution'], factors.map(factorCells)),
    ...missing.map(({ name, weight, reason }) => `${name}: none, because ${reason} (weight ${weight})`),
    '',
    `logs of the day behind it: ${explanation.usedCount}`,
    ...untitledTable(explanation.usedGroups.map(groupCells)),
    '',
    `logs of the day left out: ${explanation.leftOutCount}`,
    ...untitledTable(explanation.leftOutGroups.map(groupCells)),
  ]
}

function factorCells({ name, value, goal, unit, score, weight, contribution, basis }: ExplainedFactor): string[] {
  const share = weight === 0 ? '-' : weight.toFixed(3)
  const added = weight === 0 ? '-' : contribution.toFixed(3)
  return [name, String(value), String(goal) + (basis ? ` (${basis})` : ''), unit, score.toFixed(2), share, added]
}

/** Logs of one kind, source and reason are one line. */
function groupCells({ dataType, source, deviceType, count, startDateTime, endDateTime, ...group }: ExplainedLogGroup) {
  const outcome = group.reason ?? (group.amount === undefined ? '' : `counts ${group.amount}`)
  return [`${count} ×`, dataType, `${startDateTime} to ${endDateTime}`, `${source} (${deviceType})`, outcome]
}

const untitledTable = ([first, ...rows]: readonly string[][]): string[] => (first ? [formatTable(first, rows)] : [])
