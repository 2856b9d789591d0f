import { userInfo } from 'node:os'
import { UsageProblem } from '../../base/errors.ts'
import { formatMinute, formatNumber } from '../../base/text/readable.ts'
import { acceptDrift, type DriftChoice, listDrift } from '../../pipeline/warehouse/reports/drift-report.ts'
import { type CommandContext, exitCodes } from '../terminal/command-context.ts'
import { formatTable } from '../terminal/table.ts'
import { readWarehouse, withWarehouse } from '../with-pipeline.ts'

export async function runDriftList(
  context: CommandContext,
  options: { all: boolean; stream: string | undefined },
): Promise<number> {
  const { terminal } = context
  const found = await readWarehouse(context, (pool) => listDrift(pool, options))
  if (terminal.json) for (const entry of found) terminal.printJson('drift list', entry)
  else if (found.length === 0) terminal.print('Upstream says nothing that is not known.')
  else {
    const rows = found.map((entry) => [
      entry.id,
      entry.stream,
      entry.what,
      [entry.path, entry.detail].filter((text) => text !== '').join(' '),
      formatNumber(entry.people),
      formatNumber(entry.records),
      formatMinute(entry.firstSeenAt),
      formatMinute(entry.lastSeenAt),
      [entry.exampleExternalId, entry.exampleDate].filter(Boolean).join(' '),
      ...(options.all ? [entry.acceptedAt ? `${formatMinute(entry.acceptedAt)} ${entry.acceptedBy}` : ''] : []),
    ])
    const head = ['id', 'stream', 'what', 'at', 'people', 'records', 'first seen', 'last seen', 'example']
    terminal.print(formatTable(options.all ? [...head, 'accepted'] : head, rows))
  }
  return exitCodes.done
}

export async function runDriftAccept(
  context: CommandContext,
  { by = nameOfUser(), ...choice }: DriftChoice & { by: string | undefined },
): Promise<number> {
  const { terminal } = context
  if (by.trim() === '')
    throw new UsageProblem('drift accept: --by is blank', { hint: 'Name who accepts it: --by ada.' })
  const accepted = await withWarehouse(context, (pool) => acceptDrift(pool, choice, by))
  if (terminal.json) terminal.printJson('drift accept', { accepted })
  else
    terminal.print(
      accepted === 0 ? 'Nothing to do: nothing was reported.' : `${formatNumber(accepted)} accepted by ${by}.`,
    )
  return exitCodes.done
}

/** A container may run under a number that no user of it has. */
function nameOfUser(): string {
  try {
    return userInfo().username
  } catch {
    return `user ${process.getuid?.()}`
  }
}
