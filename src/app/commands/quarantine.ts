import { formatMinute, formatNumber } from '../../base/text/readable.ts'
import { quarantineOf } from '../../operations/open-quarantine.ts'
import { requireKnownProfile, unknownIdProblem } from '../../operations/select-profiles.ts'
import { replayedText } from '../../pipeline/ledger/retry.ts'
import type { QuarantineFilter } from '../../pipeline/warehouse/quarantine/stored-quarantine.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { printActed, printList, printResult } from '../terminal/print-result.ts'
import { readWarehouse, withWarehouse } from '../with-pipeline.ts'

const named = ['quarantined record', 'vitalsync quarantine list'] as const

/** The chosen records, under the names of the options. */
type Choice = Omit<QuarantineFilter, 'direction'> & { readonly way?: QuarantineFilter['direction'] }
const filterOf = ({ way, ...choice }: Choice): QuarantineFilter => ({ ...choice, direction: way })

export async function listQuarantine(
  context: CommandContext,
  { limit, ...choice }: Choice & { limit: number },
): Promise<void> {
  const filter = filterOf(choice)
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
  if (!found) throw unknownIdProblem(...named)
  const { profileId: _, ...shown } = found
  const lines = [
    `${found.stream} (${found.direction}) of ${found.externalId}, seen ${formatNumber(found.times)} times, last ${found.lastSeenAt.toISOString()}`,
    `reason: ${found.path === '' ? '' : `${found.path}: `}${found.reason}`,
    '',
    found.body,
  ]
  printResult(context.terminal, ['quarantine show', shown], lines)
}

export async function replayQuarantine(context: CommandContext, choice: Choice): Promise<void> {
  const filter = filterOf(choice)
  const replayed = await withWarehouse(context, async (pool) => {
    await requireKnownProfile(pool, filter.profile)
    return quarantineOf(pool).replay(filter)
  })
  const found = replayed.pushed + replayed.stored + replayed.reread
  printActed(context.terminal, ['quarantine replay', replayed], { found, filter, named, text: replayedText(replayed) })
}

export async function discardQuarantined(context: CommandContext, choice: Choice): Promise<void> {
  const filter = filterOf(choice)
  const discarded = await withWarehouse(context, async (pool) => {
    await requireKnownProfile(pool, filter.profile)
    return quarantineOf(pool).discard(filter)
  })
  const text =
    discarded > 0 ? `${formatNumber(discarded)} discarded. A record that upstream sends again comes back.` : ''
  printActed(context.terminal, ['quarantine discard', { discarded }], { found: discarded, filter, named, text })
}
