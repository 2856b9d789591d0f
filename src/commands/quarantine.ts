import { streams } from '../../config/streams.ts'
import { openQuarantine, type QuarantineFilter } from '../warehouse/quarantine.ts'
import type { CommandContext } from './engines.ts'
import { noSuch } from './failures.ts'
import { requireKnown } from './gaps.ts'
import { withWarehouse } from './open.ts'
import { minute } from './runs.ts'
import { number, table } from './terminal.ts'

export async function listQuarantine(context: CommandContext & QuarantineFilter & { limit: number }): Promise<number> {
  const { terminal, limit } = context
  const found = await withWarehouse(context, async (pool) => {
    await requireKnown(pool, context.profile)
    return openQuarantine({ pool, streams }).list(context, limit)
  })
  if (terminal.json) for (const one of found) terminal.printJson(one)
  else if (found.length === 0) terminal.print('Quarantine is empty.')
  else {
    const rows = found.map((one) => [
      one.id,
      one.externalId,
      one.stream,
      one.direction,
      String(one.times),
      minute(one.lastSeenAt),
      one.path,
      one.reason,
    ])
    terminal.print(table(['id', 'profile', 'stream', 'way', 'times', 'last seen', 'at', 'reason'], rows))
  }
  return 0
}

/** The one place where a record's content is printed: to the person who asks for it, and to nobody's log. */
export async function showQuarantined(context: CommandContext & { id: string }): Promise<number> {
  const { terminal, id } = context
  const found = await withWarehouse(context, (pool) => openQuarantine({ pool, streams }).show(id))
  if (!found) throw noSuch('quarantined record', 'vitalsync quarantine list')
  if (terminal.json) terminal.printJson(found)
  else {
    terminal.print(
      [
        `${found.stream} (${found.direction}) of ${found.externalId}, seen ${number(found.times)} times, last ${found.lastSeenAt.toISOString()}`,
        `reason: ${found.path === '' ? '' : `${found.path}: `}${found.reason}`,
        '',
        found.body,
      ].join('\n'),
    )
  }
  return 0
}

export async function replayQuarantine(context: CommandContext & QuarantineFilter): Promise<number> {
  const { terminal } = context
  const replayed = await withWarehouse(context, async (pool) => {
    await requireKnown(pool, context.profile)
    return openQuarantine({ pool, streams }).replay(context)
  })
  if (terminal.json) terminal.printJson(replayed)
  else {
    const { pushed, reread } = replayed
    const parts = [
      ...(pushed > 0 ? [`${number(pushed)} wait to be pushed again.`] : []),
      ...(reread > 0 ? [`For ${number(reread)} upstream is asked again.`] : []),
    ]
    terminal.print(
      parts.length > 0
        ? `${parts.join(' ')} The next sweep does it; at once: vitalsync sync.`
        : 'There is nothing of the kind in quarantine. What there is: vitalsync quarantine list.',
    )
  }
  const found = replayed.pushed + replayed.reread
  return context.ids && found < new Set(context.ids).size ? 1 : 0
}
