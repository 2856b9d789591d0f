import { formatCount, formatDuration, formatNumber, formatShare } from '../../../base/text/readable.ts'
import { SECOND } from '../../../base/time/units.ts'
import { makePlan, type Plan } from '../../../operations/make-plan.ts'
import { profileIdsOf, type Selection, tellIfNobody } from '../../../operations/select-profiles.ts'
import type { CommandContext } from '../../terminal/command-context.ts'
import { printResult } from '../../terminal/print-result.ts'
import { formatTable } from '../../terminal/table.ts'
import { readWarehouse } from '../../with-pipeline.ts'

type PlanOptions = Selection & {
  /** Absent: the plan of a sync; given: the plan of a back-fill from here. */
  readonly from?: Date | undefined
  readonly to?: Date | undefined
  readonly again?: boolean
}

/** Prints the windows and requests that a sync, or a back-fill of the range, would take, the covered windows, and the duration. */
export async function runPlan(context: CommandContext, options: PlanOptions): Promise<void> {
  const { terminal } = context
  const plan = await readWarehouse(context, async (pool) => {
    await tellIfNobody(pool, terminal)
    const profileIds = await profileIdsOf(pool, options.profile)
    return makePlan(pool, context, { ...options, profileIds, streams: options.stream })
  })
  printResult(terminal, ['plan', plan], planLines(plan))
}

function durationText({ windows, requestsPerSecond, seconds, measuredPerSecond, expectedSeconds }: Plan): string {
  const atBudget = `at least ${formatDuration(seconds * SECOND)} at ${formatNumber(requestsPerSecond)} a second`
  if (measuredPerSecond === null || windows === 0) return `${atBudget}, the budget; no run has been measured yet`
  const rate = measuredPerSecond < 10 ? measuredPerSecond.toFixed(1) : formatNumber(Math.round(measuredPerSecond))
  return `about ${formatDuration(expectedSeconds * SECOND)} at the ${rate} a second of the latest runs, ${atBudget}, the budget`
}

function planLines(plan: Plan): string[] {
  const { profiles, windows, covered, itemsWaiting, streams } = plan
  const share = windows + covered === 0 ? 1 : covered / (windows + covered)
  const rows = streams.map((stream) => [stream.stream, stream.windows, stream.covered])
  return [
    formatTable(['stream', 'windows due', 'covered already'], rows),
    '',
    `${formatCount(profiles, 'profile')}, ${formatCount(windows, 'window')}: as many requests, ${durationText(plan)}`,
    `${formatShare(share)} is covered already and is not asked for again`,
    ...(itemsWaiting > 0 ? [`${formatCount(itemsWaiting, 'item')} to be pushed first`] : []),
  ]
}
