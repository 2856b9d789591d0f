import { pulledStreams } from '../../config/streams.ts'
import { type CommandContext, exitCodes } from '../assembly/command-context.ts'
import { profileIdsOf, selectedStreams } from '../assembly/select-profiles.ts'
import { formatCount, formatMinute } from '../assembly/table.ts'
import { withWarehouse } from '../assembly/with-pipeline.ts'
import { UsageProblem } from '../errors.ts'
import { type DayReport, type DayState, readDayReports } from '../warehouse/reports/day-report.ts'

type WhyOptions = { readonly externalId: string; readonly date: string; readonly streams: readonly string[] }

/** Prints whether a person's day is there, or why it is not, with the evidence. */
export async function runWhy(context: CommandContext, { externalId, date, streams }: WhyOptions): Promise<number> {
  const { terminal } = context
  const names = selectedStreams(pulledStreams, streams).map(({ name }) => name)
  const found = await withWarehouse(context, async (pool) => {
    const [profileId = ''] = (await profileIdsOf(pool, [externalId])) ?? []
    return readDayReports(pool, { profileId, localDate: date, streams: names })
  })
  if (found.length === 0) {
    throw new UsageProblem(`tell why of ${date}: the day is not wanted of this profile`, {
      hint: `It lies before the first wanted day or in the future. Bring it in: vitalsync backfill --from ${date}`,
    })
  }
  if (terminal.json) for (const report of found) terminal.printJson('why', report)
  else terminal.print(found.map((report) => reportLines(report).join('\n')).join('\n'))
  return exitCodes.done
}

function reportLines(report: DayReport): string[] {
  const { externalId, stream, localDate, state, reason, rows, settled } = report
  const told = state === 'data' ? formatCount(rows, 'record') : state.replace('_', ' ')
  const answer = `${stream} of ${externalId} on ${localDate}: ${told}${reason === '' ? '' : `: ${reason}`}`
  // Of a day that is there and can no longer change there is nothing more to say.
  if (settled && state === 'data' && reason === '') return [answer]
  return [answer, ...evidenceLines(report).map((line) => `  ${line}`), `  → ${whatToDo(report)}`]
}

function evidenceLines(report: DayReport): string[] {
  const { readAt, runId, coveredFrom, coveredTo, itemsWaiting, refusals, quarantined } = report
  return [
    readAt ? `last read ${formatMinute(readAt)} UTC${runId ? `, last run ${runId}` : ''}` : 'never read',
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

function whatToDo({ externalId, stream, localDate, state, itemsWaiting }: DayReport): string {
  if (itemsWaiting > 0) return 'vitalsync sync pushes what waits, and reads the day again'
  const readAgain = `vitalsync backfill --again --from ${localDate} --to ${localDate}T23:59:59Z --profile ${externalId} --stream ${stream}`
  const steps: Readonly<Record<DayState, string>> = {
    data: 'nothing to do: it is read again by itself',
    empty: `nothing to do. If it should be there, ask upstream again: ${readAgain}`,
    unsettled: 'nothing to do: every nightly reads it again',
    never_read: 'vitalsync sync asks for it',
    refused: `vitalsync failures list --profile ${externalId} tells more; vitalsync failures retry asks again now`,
    quarantined: 'vitalsync quarantine show <id> shows the record; vitalsync quarantine replay <id> tries it again',
    erased_upstream: `the former records are in warehouse.history. Ask upstream again: ${readAgain}`,
  }
  return steps[state]
}
