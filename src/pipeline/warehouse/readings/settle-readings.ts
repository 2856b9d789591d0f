import { intersect, type Span } from '../../../base/time/spans.ts'
import { type SettleRule, suspectParts } from '../../ledger/awaiting-upstream.ts'
import { settleReading } from '../../ledger/judge.ts'
import { countLateness, type LatenessCounts, noLatenessCounts, similarDays } from '../../ledger/lateness.ts'
import { type SettleSettings, settleMsOf } from '../../ledger/settle-time.ts'
import type { PulledStream } from '../../transfer/stream.ts'
import { type LockedLedgerRow, profileStreamKey } from '../ledger/ledger-rows.ts'
import { binaryColumn } from '../postgres/binary-format.ts'
import type { Tx } from '../postgres/warehouse-pool.ts'
import { type ChangeSummary, recordEndMs } from './record-changes.ts'
import type { AdmittedReading, SettledReading } from './record-rows.ts'

/** A reading that changed records whose days had been called covered, without a push that touched them. */
type SilentDifference = {
  readonly profileId: string
  readonly stream: PulledStream
  readonly foundAtMs: number
  readonly records: number
  readonly lateMs: number
}

const noChanges: ChangeSummary = { came: [], changed: [] }

/**
 * The changes of the ledger by readings, and their evidence about upstream's lateness, now that the changed records are known. The days
 * near a silent difference are un-covered in the same commit: once the changed record is stored, a later reading finds it equal, and
 * nothing would say any more that the days beside it are called covered without reason.
 */
export function settleReadings(
  admitted: readonly AdmittedReading[],
  settling: {
    readonly ledger: ReadonlyMap<string, LockedLedgerRow>
    readonly summaries: ReadonlyMap<string, ChangeSummary>
    /** The spans of readings whose records came in another unit. */
    readonly suspiciousUnits: ReadonlyMap<AdmittedReading, readonly Span[]>
    readonly settle: SettleSettings
  },
): {
  readonly settled: readonly SettledReading[]
  readonly silent: readonly SilentDifference[]
  /** The group's evidence about the lateness of each stream. It counts once the group is committed. */
  readonly lateness: ReadonlyMap<PulledStream, LatenessCounts>
} {
  const lateness = new Map<PulledStream, LatenessCounts>()
  const silent: SilentDifference[] = []
  const settled = admitted.map((reading): SettledReading => {
    const key = profileStreamKey(reading)
    const row = settling.ledger.get(key)
    const changes = settling.summaries.get(key) ?? noChanges
    const rule = ruleOf(reading, row, settling.settle)
    const ends = [...changes.came, ...changes.changed]
    const firstChangeMs = ends.length > 0 ? ends.reduce((a, b) => Math.min(a, b)) : undefined
    const { mayCover, sentAtMs } = reading
    const change = settleReading(reading, row ?? { awaiting: [] }, { mayCover, firstChangeMs, rule })
    const silentEnds = row ? countReading(lateness, reading, { row, changes, rule }) : []
    const uncovers = [...change.uncovers, ...(settling.suspiciousUnits.get(reading) ?? [])]
    const entry = { ...reading, ...change, uncovers, rule }
    if (silentEnds.length === 0) return entry
    silent.push(silentDifferenceOf(reading, silentEnds))
    const suspect = similarDays(silentEnds)
    return {
      ...entry,
      awaiting: suspectParts(change.awaiting, suspect, sentAtMs),
      uncovers: [...uncovers, ...suspect],
    }
  })
  return { settled, silent, lateness }
}

function ruleOf(
  { stream, profileId }: AdmittedReading,
  row: LockedLedgerRow | undefined,
  settings: SettleSettings,
): SettleRule {
  const settleMs = settleMsOf(profileId, row?.measuredSettleMs ?? null, { fallbackMs: stream.settleMs, settings })
  return { settleMs, intervalsMs: settings.intervalsMs }
}

/**
 * Counts one reading. Snapshots have no period to be late for; a first reading, and a reading that is not complete for its
 * window, has no reading before it to compare with.
 */
function countReading(
  lateness: Map<PulledStream, LatenessCounts>,
  reading: AdmittedReading,
  { row, changes, rule }: { readonly row: LockedLedgerRow; readonly changes: ChangeSummary; readonly rule: SettleRule },
): number[] {
  const { stream, window, rows, sentAtMs, complete } = reading
  if (stream.kind === 'snapshot' || row.readAtMs === null || !complete) return []
  const counts = lateness.get(stream) ?? noLatenessCounts()
  lateness.set(stream, counts)
  return countLateness(
    counts,
    { seen: rows.map(recordEndMs), ...changes },
    {
      sentAtMs,
      formerAtMs: row.readAtMs,
      settleMs: rule.settleMs,
      covered: intersect(row.coveredBefore, [window]),
      awaiting: row.awaiting,
    },
  )
}

const silentDifferenceOf = (
  { profileId, stream, sentAtMs }: AdmittedReading,
  ends: readonly number[],
): SilentDifference => ({
  profileId,
  stream,
  foundAtMs: sentAtMs,
  records: ends.length,
  lateMs: sentAtMs - ends.reduce((a, b) => Math.min(a, b)),
})

/** Records silent differences in the commit that makes their days due again. */
export async function recordSilentDifferences(
  tx: Tx,
  account: string,
  found: readonly SilentDifference[],
): Promise<void> {
  if (found.length === 0) return
  await tx.query({
    name: 'record silent differences',
    text: `insert into vitalsync.silent_differences (account, stream, profile_id, found_at, records, late_ms)
      select $1, u.* from unnest($2::text[], $3::int8[], $4::timestamptz[], $5::int4[], $6::float8[]) u`,
    values: [
      account,
      binaryColumn('text', found, ({ stream }) => stream.name),
      binaryColumn('int8', found, ({ profileId }) => profileId),
      binaryColumn('timestamptz', found, ({ foundAtMs }) => foundAtMs * 1000),
      found.map(({ records }) => records),
      found.map(({ lateMs }) => lateMs),
    ],
  })
}
