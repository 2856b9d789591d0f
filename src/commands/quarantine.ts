import { streams } from '../../config/streams.ts'
import { openQuarantine, type QuarantineFilter } from '../warehouse/quarantine.ts'
import type { CommandContext } from './engines.ts'
import { noSuch } from './failures.ts'
import { withWarehouse } from './open.ts'
import { minute } from './runs.ts'
import { number, table } from './terminal.ts'

export async function listQuarantine(context: CommandContext & QuarantineFilter & { limit: number }): Promise<number> {
  const { terminal, limit } = context
  const found = await withWarehouse(context, (pool) => openQuarantine({ pool, streams }).list(context, limit))
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
  const replayed = await withWarehouse(context, (pool) => openQuarantine({ pool, streams }).replay(context))
  if (terminal.json) terminal.printJson(replayed)
  else
    terminal.print(
      `${number(replayed.pushed)} wait to be pushed again, for ${number(replayed.reread)} upstream will be asked again. The next sweep does it; at once: vitalsync sync.`,
    )
  const found = replayed.pushed + replayed.reread
  return context.ids && found < new Set(context.ids).size ? 1 : 0
}
