import { userInfo } from 'node:os'
import { UsageProblem } from '../../base/errors.ts'
import { formatMinute, formatNumber } from '../../base/text/readable.ts'
import { acceptDrift, type DriftChoice, listDrift } from '../../pipeline/warehouse/reports/drift-report.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { printList, printResult } from '../terminal/print-result.ts'
import { readWarehouse, withWarehouse } from '../with-pipeline.ts'

export async function runDriftList(
  context: CommandContext,
  options: { all: boolean; stream: string | undefined },
): Promise<void> {
  const found = await readWarehouse(context, (pool) => listDrift(pool, options))
  const head = ['id', 'stream', 'what', 'at', 'people', 'records', 'first seen', 'last seen', 'example']
  printList(context.terminal, ['drift list', found], {
    none: 'Upstream says nothing that is not known.',
    head: options.all ? [...head, 'accepted'] : head,
    cells: (entry) => [
      entry.id,
      entry.stream,
      entry.what,
      [entry.path, entry.detail, entry.cameAgainAt && `came again ${formatMinute(entry.cameAgainAt)}`]
        .filter(Boolean)
        .join(' '),
      formatNumber(entry.people),
      formatNumber(entry.records),
      formatMinute(entry.firstSeenAt),
      formatMinute(entry.lastSeenAt),
      [entry.exampleExternalId, entry.exampleDate].filter(Boolean).join(' '),
      ...(options.all ? [entry.acceptedAt ? `${formatMinute(entry.acceptedAt)} ${entry.acceptedBy}` : ''] : []),
    ],
  })
}

export async function runDriftAccept(
  context: CommandContext,
  { by = nameOfUser(), ...choice }: DriftChoice & { by: string | undefined },
): Promise<void> {
  if (by.trim() === '')
    throw new UsageProblem('drift accept: --by is blank', { hint: 'Name who accepts it: --by ada.' })
  const accepted = await withWarehouse(context, (pool) => acceptDrift(pool, choice, by))
  printResult(
    context.terminal,
    ['drift accept', { accepted }],
    accepted === 0 ? 'Nothing to do: nothing was reported.' : `${formatNumber(accepted)} accepted by ${by}.`,
  )
}

/** A container may run under a number that no user of it has. */
function nameOfUser(): string {
  try {
    return userInfo().username
  } catch {
    return `user ${process.getuid?.()}`
  }
}
