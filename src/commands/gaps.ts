import { streams } from '../../config/streams.ts'
import { UsageProblem } from '../errors.ts'
import { type Gap, type GapReason, gapReasons, gapsOf } from '../gaps.ts'
import { readKnown } from '../warehouse/gaps.ts'
import { openPeople } from '../warehouse/people.ts'
import type { Pool } from '../warehouse/pool.ts'
import type { CommandContext } from './engines.ts'
import { withWarehouse } from './open.ts'
import { minute } from './runs.ts'
import { many, number, table } from './terminal.ts'

export type Chosen = { readonly profiles: readonly string[]; readonly streams: readonly string[] }

const PAGE = 500

/** Which windows are missing, and why. Without profiles it looks at everybody, page by page. */
export async function gaps(context: CommandContext & Chosen & { limit: number }): Promise<number> {
  const { terminal, limit, signal } = context
  const shown: string[][] = []
  const totals = new Map<string, number>()
  await withWarehouse(context, async (pool) => {
    for await (const { externalId, stream, gap } of eachGap(pool, context)) {
      signal.throwIfAborted()
      totals.set(gap.reason, (totals.get(gap.reason) ?? 0) + 1)
      const row = { externalId, stream, startAt: new Date(gap.from), endAt: new Date(gap.to), reason: gap.reason }
      const nextTryAt = gap.nextTryMs === null ? null : new Date(gap.nextTryMs)
      if (terminal.json) terminal.printJson({ ...row, detail: gap.detail, nextTryAt })
      else if (shown.length < limit) {
        const again = nextTryAt ? `again ${minute(nextTryAt)}` : ''
        const why = [gap.detail ?? '', again].filter(Boolean).join('; ')
        shown.push([externalId, stream, minute(row.startAt), minute(row.endAt), gap.reason, why])
      }
    }
  })
  if (terminal.json) return 0
  if (shown.length === 0) return print(terminal, 'No gaps: everything that is wanted was read and has settled.')
  const all = [...totals.values()].reduce((sum, n) => sum + n, 0)
  const sums = [...totals].map(([reason, n]) => `${number(n)} ${reason}`).join(', ')
  const left = all > shown.length ? `\n… and ${number(all - shown.length)} more: --limit, or --json for all` : ''
  const meanings = gapReasons
    .filter((reason) => totals.has(reason))
    .map((reason) => `  ${reason}: ${inWords[reason]}`)
    .join('\n')
  return print(
    terminal,
    `${table(['profile', 'stream', 'from', 'to', 'reason', 'detail'], shown)}${left}\n\n${many(all, 'gap')}: ${sums}\n${meanings}`,
  )
}

const inWords: Readonly<Record<GapReason, string>> = {
  'never-asked': 'wanted, and no reading has asked for it yet; the next sync does',
  refused: 'upstream would not give it; the detail says why and when it is asked again',
  unsettled: 'it was read, and is read again until late data can no longer change it',
  waiting: 'upstream is still deriving from what was pushed; it is read after that',
}

function print(terminal: CommandContext['terminal'], text: string): number {
  terminal.print(text)
  return 0
}

async function* eachGap(pool: Pool, chosen: Chosen): AsyncGenerator<{ externalId: string; stream: string; gap: Gap }> {
  const wanted = streams.filter(({ name }) => chosen.streams.length === 0 || chosen.streams.includes(name))
  const ids = await idsOfNamed(pool, chosen.profiles)
  for (let afterId = '0'; ; ) {
    const known = await readKnown({ pool, streams: wanted }, { afterId, limit: PAGE, ids })
    const last = known.at(-1)
    if (!last) return
    for (const one of known) {
      for (const gap of gapsOf(one)) yield { externalId: one.externalId, stream: one.stream, gap }
    }
    afterId = last.profileId
  }
}

/** A filter by somebody who is not here must not look like an answer about them. */
export async function requireKnown(pool: Pool, externalId: string | undefined): Promise<void> {
  if (externalId !== undefined) await idsOfNamed(pool, [externalId])
}

/** Our own ids of those who were named; undefined when nobody was, which means everybody. */
export async function idsOfNamed(pool: Pool, externalIds: readonly string[]): Promise<string[] | undefined> {
  if (externalIds.length === 0) return undefined
  const found = await openPeople({ pool }).idsOf(externalIds)
  const places = externalIds.flatMap((externalId, index) => (found.has(externalId) ? [] : [index + 1]))
  if (places.length === 0) return [...found.values()]
  throw new UsageProblem(
    `find profiles: ${places.length} of ${externalIds.length} are not known here (number ${places.slice(0, 5).join(', ')}${places.length > 5 ? ', …' : ''})`,
    { hint: 'Names are compared letter by letter: vitalsync profiles list. Take somebody in: vitalsync profiles add.' },
  )
}
