import { pulledStreams } from '../../../../config/streams.ts'
import { formatDuration, formatNumber } from '../../../base/text/readable.ts'
import { SECOND } from '../../../base/time/units.ts'
import {
  boundedSettleMs,
  DAYS_ENOUGH,
  RECORDS_ENOUGH,
  type SettleBasis,
  type SettleSettings,
} from '../../../pipeline/ledger/settle-time.ts'
import { readSettleTimes, type SettleTimeReport } from '../../../pipeline/warehouse/reports/lateness-report.ts'
import type { CommandContext } from '../../terminal/command-context.ts'
import { formatTable } from '../../terminal/table.ts'
import { readWarehouse } from '../../with-pipeline.ts'

/** Prints the settle time of every stream, and what it follows from. */
export async function runExplainSettle(context: CommandContext): Promise<void> {
  const { terminal, config } = context
  const computed = await readWarehouse(context, (pool) => readSettleTimes(pool))
  const explained = pulledStreams
    .filter(({ settleMs }) => settleMs > 0)
    .map(({ name, settleMs }) =>
      explain(
        computed.find(({ stream }) => stream === name),
        { name, settleMs },
        config.settle,
      ),
    )
  if (terminal.json) for (const explanation of explained) terminal.printJson('explain settle', explanation)
  else terminal.print(settleLines(explained).join('\n'))
}

type StreamFallback = { readonly name: string; readonly settleMs: number }

function explain(found: SettleTimeReport | undefined, { name, settleMs }: StreamFallback, settings: SettleSettings) {
  return {
    stream: name,
    settleSeconds: boundedSettleMs(found?.settleMs ?? settleMs, settings) / SECOND,
    basis: found?.basis ?? 'fallback',
    fallbackSeconds: settleMs / SECOND,
    days: found?.days ?? 0,
    watched: found?.watched ?? 0,
    changedLater: found?.changedLater ?? 0,
    computedAt: found?.computedAt ?? null,
  }
}

type ExplainedSettleTime = ReturnType<typeof explain>

const basisMeanings: Readonly<Record<SettleBasis, string>> = {
  fallback: `not enough is known yet: it takes ${formatNumber(RECORDS_ENOUGH)} records, watched over ${DAYS_ENOUGH} days as long as this`,
  measured: 'at most one record in ten thousand changed later',
  extrapolated: 'at most one record in a thousand changed at half of it; too few were watched to say more',
  longer: 'more than one record in a thousand still changed at the end of what was watched, so it is watched longer',
}

function settleLines(explained: readonly ExplainedSettleTime[]): string[] {
  const rows = explained.map((explanation) => [
    explanation.stream,
    formatDuration(explanation.settleSeconds * SECOND),
    explanation.basis,
    formatNumber(explanation.days),
    formatNumber(explanation.watched),
    formatNumber(explanation.changedLater),
  ])
  const bases = new Set(explained.map(({ basis }) => basis))
  return [
    'A day settles so long after its end, or after a push that touches it; until then it is read again every night.',
    '',
    formatTable(['stream', 'settles after', 'basis', 'days', 'records watched', 'changed later'], rows),
    '',
    ...[...bases].map((basis) => `  ${basis}: ${basisMeanings[basis]}`),
    'Bounded by SETTLE_MIN_SECONDS and SETTLE_MAX_SECONDS. The distribution itself: the view warehouse.lateness.',
  ]
}
