import { formatMinute, formatNumber } from '../../base/text/readable.ts'
import { quarantineOf } from '../../operations/open-quarantine.ts'
import { requireAllFound, requireKnownProfile, unknownIdProblem } from '../../operations/select-profiles.ts'
import { replayedText } from '../../pipeline/ledger/retry.ts'
import type { QuarantineFilter } from '../../pipeline/warehouse/quarantine/stored-quarantine.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { printList, printResult } from '../terminal/print-result.ts'
import { readWarehouse, withWarehouse } from '../with-pipeline.ts'

export async function listQuarantine(
  context: CommandContext,
  { limit, ...filter }: QuarantineFilter & { limit: number },
): Promise<void> {
  const found = await readWarehouse(context, async (pool) => {
    await requireKnownProfile(pool, filter.profile)
    return quarantineOf(pool).list(filter, limit + 1)
  })
  const records = found.map(({ profileId: _, ...record }) => record)
  printList(context.terminal, ['quarantine list', records], {
    limit,
    none: 'Quarantine is empty.',
    head: ['id', 'profile', 'stream', 'way', 'times', 'last seen', 'at', 'reason'],
    cells: (record) => [
      record.id,
      record.externalId,
      record.stream,
      record.direction,
      String(record.times),
      formatMinute(record.lastSeenAt),
      record.path,
      record.reason,
    ],
  })
}

/** Prints the content of a record. No other command and no log does. */
export async function showQuarantined(context: CommandContext, { id }: { id: string }): Promise<void> {
  const found = await readWarehouse(context, (pool) => quarantineOf(pool).show(id))
  if (!found) throw unknownIdProblem('quarantined record', 'vitalsync quarantine list')
  const { profileId: _, ...shown } = found
  const lines = [
    `${found.stream} (${found.direction}) of ${found.externalId}, seen ${formatNumber(found.times)} times, last ${found.lastSeenAt.toISOString()}`,
    `reason: ${found.path === '' ? '' : `${found.path}: `}${found.reason}`,
    '',
    found.body,
  ]
  printResult(context.terminal, ['quarantine show', shown], lines)
}

const NOTHING_TO_DO = 'Nothing to do: no quarantined record fits. The list: vitalsync quarantine list.'

export async function replayQuarantine(context: CommandContext, filter: QuarantineFilter): Promise<void> {
  const { terminal } = context
  const replayed = await withWarehouse(context, async (pool) => {
    await requireKnownProfile(pool, filter.profile)
    return quarantineOf(pool).replay(filter)
  })
  if (terminal.json) terminal.printJson('quarantine replay', replayed)
  else {
    const text = replayedText(replayed)
    if (text !== '' || !filter.ids) terminal.print(text || NOTHING_TO_DO)
  }
  requireAllFound(replayed.pushed + replayed.stored + replayed.reread, filter, [
    'quarantined record',
    'vitalsync quarantine list',
  ])
}

export async function discardQuarantined(context: CommandContext, filter: QuarantineFilter): Promise<void> {
  const { terminal } = context
  const discarded = await withWarehouse(context, async (pool) => {
    await requireKnownProfile(pool, filter.profile)
    return quarantineOf(pool).discard(filter)
  })
  if (terminal.json) terminal.printJson('quarantine discard', { discarded })
  else if (discarded === 0 && !filter.ids) terminal.print(NOTHING_TO_DO)
  else if (discarded > 0)
    terminal.print(`${formatNumber(discarded)} discarded. A record that upstream sends again comes back.`)
  requireAllFound(discarded, filter, ['quarantined record', 'vitalsync quarantine list'])
}
