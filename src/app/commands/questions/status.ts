import { formatCount, formatMinute, formatNumber, formatPercent, formatShare } from '../../../base/text/readable.ts'
import { SECOND } from '../../../base/time/units.ts'
import { readStatus, type StatusReport, troubleText } from '../../../operations/read-status.ts'
import { lanes } from '../../../pipeline/fleet/budget.ts'
import type { LaneTrouble } from '../../../pipeline/fleet/lane-troubles.ts'
import { formatPartList } from '../../../pipeline/fleet/queue-parts.ts'
import { openQueueEngine } from '../../../pipeline/queue/engine.ts'
import { openBudgetStore } from '../../../pipeline/queue/open-budget-store.ts'
import type { CommandContext } from '../../terminal/command-context.ts'
import { printResult } from '../../terminal/print-result.ts'
import { formatTable, shadedCell } from '../../terminal/table.ts'
import type { Paint } from '../../terminal/terminal.ts'
import { readWarehouse } from '../../with-pipeline.ts'
import { progressText } from '../columns.ts'
import { runsTable } from '../runs.ts'

/** Prints lag, freshness, last runs, backlog, failures by reason and budget. */
export async function runStatus(context: CommandContext): Promise<void> {
  const { terminal } = context
  const found = await readWarehouse(context, async (pool, { queueUrl, closeStack }) => {
    const engine = closeStack.add(
      await openQueueEngine(queueUrl, { parts: context.config.queueParts, isObserver: true }),
      'queue',
    )
    await engine.requireUsable()
    const budgetStore = closeStack.add(openBudgetStore(engine, pool, queueUrl), 'budget')
    return readStatus({ pool, engine, budgetStore }, context.config.budget)
  })
  printResult(terminal, ['status', found], statusLines(found, terminal.paint))
}

const SETTLING_NOTE =
  'Read: of the wanted time. A day that late data can still change is read again every night, until it has settled.'

function statusLines(report: StatusReport, paint: Paint): string[] {
  const { profiles, runs, queue, outbox, quarantine, budget, verified } = report
  const { new: fresh, active, gone, due } = profiles
  return [
    `Profiles: ${formatNumber(active)} active, ${formatNumber(fresh)} new, ${formatNumber(gone)} gone upstream; ${formatNumber(due)} due now`,
    '',
    streamsTable(report),
    SETTLING_NOTE,
    '',
    runs.length === 0 ? 'No run yet.' : runsTable(runs, paint),
    '',
    queueText(queue, paint),
    ...partsTexts(queue).map((text) => paint('odd', `! ${text}`)),
    ...queue.troubles.map((trouble) => laneTroubleText(trouble, queue, paint)),
    `Waiting to be pushed: ${outbox.map(({ stream, waiting }) => `${formatNumber(waiting)} ${stream}`).join(', ') || 'nothing'}`,
    `Quarantine: ${quarantine.map(({ direction, stream, count }) => `${formatNumber(count)} ${stream} (${direction})`).join(', ') || 'empty'}`,
    driftText(report, paint),
    ...report.columns.map(
      (column) =>
        `Being filled: ${column.stream}.${column.name}, ${progressText(column)}; the list: vitalsync columns list`,
    ),
    budgetText(budget),
    verifiedText(verified, paint),
    silentText(report, paint),
    '',
    failuresTable(report, paint),
  ]
}

const streamsTable = ({ at, streams }: StatusReport): string =>
  formatTable(
    ['stream', 'read', 'read up to', 'settled up to', 'in all up to', 'never read'],
    streams.map((stream) => [
      stream.stream,
      formatShare(stream.readShare),
      formatMinute(stream.newestReadAt) || 'never',
      formatMinute(new Date(at.getTime() - stream.lagSecondsMedian * SECOND)),
      formatMinute(new Date(at.getTime() - stream.lagSecondsMax * SECOND)),
      stream.neverRead,
    ]),
  )

function queueText(queue: StatusReport['queue'], paint: Paint): string {
  const workers = queue.workers === 0 ? paint('odd', 'no worker') : formatCount(queue.workers, 'worker')
  const backlogs = lanes.map((lane) => {
    const { waiting, active, delayed } = queue[lane]
    return `${lane} ${formatNumber(waiting + active + delayed)}`
  })
  return `Queue (${queue.engine}, ${workers}): ${backlogs.join(', ')}`
}

/** Without any worker the line above says enough. */
function partsTexts({ workers, parts, formerParts, unservedParts }: StatusReport['queue']): string[] {
  const unserved = unservedParts.filter((part) => part < parts)
  return [
    ...(workers > 0 && unserved.length > 0
      ? [
          `parts ${formatPartList(unserved)} of ${parts} have no worker: vitalsync worker --parts ${formatPartList(unserved)}`,
        ]
      : []),
    ...(formerParts.length > 0
      ? [`jobs wait in parts ${formatPartList(formerParts)}, beyond QUEUE_PARTS=${parts}: vitalsync doctor`]
      : []),
  ]
}

const laneTroubleText = (trouble: LaneTrouble, queue: StatusReport['queue'], paint: Paint): string => {
  const { waiting, active, delayed } = queue[trouble.lane]
  return paint('odd', `! ${troubleText(trouble, formatCount(waiting + active + delayed, 'job'))}`)
}

function driftText({ drift }: StatusReport, paint: Paint): string {
  if (drift.length === 0) return 'Drift: upstream says nothing that is not known'
  const counts = drift.map(({ stream, count }) => `${formatNumber(count)} ${stream}`).join(', ')
  return `Drift: ${paint('odd', counts)}; the list: vitalsync drift list`
}

function budgetText({ requestsPerSecond, inFlight, pausedUntil }: StatusReport['budget']): string {
  const rate = requestsPerSecond === null ? 'any number of' : formatNumber(Math.round(requestsPerSecond))
  const pause = pausedUntil ? `, paused until ${pausedUntil.toISOString()}` : ''
  return `Budget: ${rate} requests a second, ${formatNumber(inFlight)} in flight${pause}`
}

function verifiedText(verified: StatusReport['verified'], paint: Paint): string {
  const { windows, windowsDiffering, rate, rateFrom, rateUpTo, lostHere, changedUpstream, lateUpstream } = verified
  if (rate === null) return 'Silent differences: no covered window was verified yet; every nightly verifies some'
  const found = `${formatNumber(windowsDiffering)} of ${formatCount(windows, 'verified window')} in 30 days`
  const interval = `${formatPercent(rate)} (95 %: ${formatPercent(rateFrom ?? 0)} to ${formatPercent(rateUpTo ?? 1)})`
  const causes = `lost here ${lostHere}, changed upstream ${changedUpstream}, late upstream ${lateUpstream}; mended ${verified.mended}`
  return `Silent differences: ${lostHere > 0 ? paint('bad', found) : found}, ${interval}; found in all: ${causes}`
}

function silentText({ silent }: StatusReport, paint: Paint): string {
  if (silent.length === 0) return 'Readings found no covered day changed in 30 days'
  const found = silent.map(
    ({ stream, records, profiles, newestAt }) =>
      `${formatCount(records, `record`)} of ${stream} (${formatCount(profiles, 'profile')}, newest ${formatMinute(newestAt)})`,
  )
  return `Readings found covered days changed in 30 days, and un-settled the days around: ${paint('odd', found.join(', '))}`
}

function failuresTable({ failures }: StatusReport, paint: Paint): string {
  if (failures.length === 0) return 'No failures.'
  const rows = failures.map((failure) => [
    shadedCell(failure.count, 'bad'),
    `${failure.kind} ${failure.subject}`,
    formatMinute(failure.newestAt),
    failure.reason,
  ])
  return formatTable(['failures', 'of', 'newest', 'reason'], rows, paint)
}
