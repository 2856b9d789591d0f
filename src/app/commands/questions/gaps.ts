import { pulledStreams } from '../../../../config/streams.ts'
import { formatCount, formatMinute, formatNumber } from '../../../base/text/readable.ts'
import { DAY } from '../../../base/time/units.ts'
import { causeMeanings, causeSentence } from '../../../operations/cause-text.ts'
import { profileIdsOf, type Selection, selectedStreams, tellIfNobody } from '../../../operations/select-profiles.ts'
import { findGaps, type Gap, type GapReason, gapReasons } from '../../../pipeline/ledger/coverage-gaps.ts'
import { type EmptyCause, emptyCauses } from '../../../pipeline/ledger/empty-causes.ts'
import type { Pool } from '../../../pipeline/warehouse/postgres/warehouse-pool.ts'
import { readKnownCoverage } from '../../../pipeline/warehouse/reports/coverage-report.ts'
import { readEmptySpans } from '../../../pipeline/warehouse/reports/empty-spans.ts'
import type { CommandContext } from '../../terminal/command-context.ts'
import { formatTable } from '../../terminal/table.ts'
import { readWarehouse } from '../../with-pipeline.ts'

type GapsOptions = Selection & {
  readonly limit: number
  readonly all: boolean
  /** Days that were read and are empty, with their causes, instead of missing windows. */
  readonly empty: boolean
}

const PROFILES_PER_PAGE = 500

/** Prints the missing windows with the reasons, page by page of profiles. */
export async function runGaps(context: CommandContext, options: GapsOptions): Promise<void> {
  if (options.empty) return printEmptyDays(context, options)
  const { terminal, signal } = context
  const shown: string[][] = []
  const totals = new Map<GapReason, number>()
  let passing = 0
  await readWarehouse(context, async (pool) => {
    await tellIfNobody(pool, terminal)
    for await (const { externalId, stream, gap } of eachGap(pool, options)) {
      signal.throwIfAborted()
      if (!options.all && isPassing(gap)) {
        passing += 1
        continue
      }
      totals.set(gap.reason, (totals.get(gap.reason) ?? 0) + 1)
      const row = { externalId, stream, startAt: new Date(gap.startMs), endAt: new Date(gap.endMs), reason: gap.reason }
      const nextTryAt = gap.nextTryAtMs === null ? null : new Date(gap.nextTryAtMs)
      if (terminal.json) terminal.printJson('gaps', { ...row, detail: gap.detail, nextTryAt })
      else if (shown.length < options.limit) {
        const again = nextTryAt ? `read again ${formatMinute(nextTryAt)}` : ''
        const why = [gap.detail ?? '', again].filter(Boolean).join('; ')
        shown.push([externalId, stream, formatMinute(row.startAt), formatMinute(row.endAt), gap.reason, why])
      }
    }
  })
  if (terminal.json) return
  if (shown.length === 0) {
    const unsettled =
      passing === 0
        ? ' and has settled'
        : `; ${formatCount(passing, 'span')} can still change and will be read again: --all`
    return terminal.print(`No gaps: everything that is wanted was read${unsettled}.`)
  }
  const all = [...totals.values()].reduce((sum, n) => sum + n, 0)
  const table = formatTable(['profile', 'stream', 'from', 'to', 'reason', 'detail'], shown)
  const meanings = meaningsOf(gapReasons, totals, reasonMeanings)
  terminal.print(
    `${table}${restText(all - shown.length)}\n\n${formatCount(all, 'gap')}: ${sumsText(totals)}\n${meanings}`,
  )
}

const restText = (count: number) => (count > 0 ? `\n… and ${formatNumber(count)} more: --limit, or --json for all` : '')

const sumsText = (totals: ReadonlyMap<string, number>) =>
  [...totals].map(([reason, n]) => `${formatNumber(n)} ${reason}`).join(', ')

const meaningsOf = <Reason extends string>(
  reasons: readonly Reason[],
  totals: ReadonlyMap<Reason, number>,
  meanings: Readonly<Record<Reason, string>>,
) => reasons.flatMap((reason) => (totals.has(reason) ? [`  ${reason}: ${meanings[reason]}`] : [])).join('\n')

async function printEmptyDays(context: CommandContext, options: GapsOptions): Promise<void> {
  const { terminal, signal } = context
  const shown: string[][] = []
  const totals = new Map<EmptyCause, number>()
  let spans = 0
  const streams = selectedStreams(pulledStreams, options.stream).map(({ name }) => name)
  await readWarehouse(context, async (pool) => {
    await tellIfNobody(pool, terminal)
    const ids = await profileIdsOf(pool, options.profile)
    for await (const span of readEmptySpans(pool, { ids, streams })) {
      signal.throwIfAborted()
      const { externalId, stream, firstDay, lastDay, days, cause, evidence } = span
      totals.set(cause, (totals.get(cause) ?? 0) + days)
      spans += 1
      const detail = causeSentence(cause, evidence ?? {})
      if (terminal.json) {
        const [startAt, endAt] = [new Date(firstDay), new Date(Date.parse(lastDay) + DAY)]
        const gap = { externalId, stream, startAt, endAt, reason: 'empty', detail, nextTryAt: null } as const
        terminal.printJson('gaps', { ...gap, cause, evidence: evidence ?? {} })
      } else if (shown.length < options.limit) shown.push([externalId, stream, firstDay, lastDay, cause, detail])
    }
  })
  if (terminal.json) return
  if (shown.length === 0) return terminal.print('No empty days: upstream has something for each day that has settled.')
  const header = ['profile', 'stream', 'first day', 'last day', 'cause', 'evidence of the last day']
  const meanings = meaningsOf(emptyCauses, totals, causeMeanings)
  terminal.print(
    `${formatTable(header, shown)}${restText(spans - shown.length)}\n\nEmpty days: ${sumsText(totals)}\n${meanings}`,
  )
}

/** The span was read and is read again without anybody: nobody could bring in more now. */
const isPassing = ({ reason }: Gap): boolean => reason === 'unsettled' || reason === 'waiting'

const reasonMeanings: Readonly<Record<GapReason, string>> = {
  'never-asked': 'wanted, and no whole answer for it has come yet; the next sync asks for it',
  refused: 'upstream would not give it; the detail says why and when it is asked again',
  unsettled: 'it was read, and is read again until late data can no longer change it',
  waiting:
    'something was pushed for it, replayed from quarantine or found to differ; it is read again until upstream says that it has derived, or two readings agree',
}

async function* eachGap(
  pool: Pool,
  chosen: Selection,
): AsyncGenerator<{ externalId: string; stream: string; gap: Gap }> {
  const wanted = selectedStreams(pulledStreams, chosen.stream)
  const ids = await profileIdsOf(pool, chosen.profile)
  for (let afterId = '0'; ; ) {
    const known = await readKnownCoverage({ pool, streams: wanted }, { afterId, limit: PROFILES_PER_PAGE, ids })
    const last = known.at(-1)
    if (!last) return
    for (const state of known) {
      for (const gap of findGaps(state)) yield { externalId: state.externalId, stream: state.stream, gap }
    }
    afterId = last.profileId
  }
}
