import { type Span, type SpanPairs, spansFromPairs, subtract } from '../../../base/time/spans.ts'
import { type AwaitingPart, nextReadingAtMs, type SettleRule } from '../../ledger/awaiting-upstream.ts'
import type { UnitDoubt } from '../../ledger/changed-units.ts'
import type { Admission, CoverageChange, LedgerState, RecentWindow } from '../../ledger/judge.ts'
import type { Suspicion } from '../../ledger/suspicion.ts'
import type { Reading } from '../../transfer/reading.ts'
import { binaryColumn, type ColumnType, type ColumnValue } from '../postgres/binary-format.ts'
import { epochMsSql, spanPairsSql } from '../postgres/sql-time.ts'
import { namedSql, type Tx } from '../postgres/warehouse-pool.ts'

/** Whether the tags of a ledger row's stream were found to be false, in the last 30 days. */
export const falseTagsSql = `exists (select from vitalsync.false_tags f
  where f.stream = l.stream and f.found_at > statement_timestamp() - interval '30 days')`

/** A ledger row belongs to one stream of one profile. */
type ProfileStream = Pick<Reading, 'profileId' | 'stream'>

/** One text for each ledger row, to look readings up by. */
export const profileStreamKey = ({ profileId, stream }: ProfileStream): string => keyOf(profileId, stream.name)
const keyOf = (profileId: string, streamName: string) => `${streamName} ${profileId}`

export type LockedLedgerRow = LedgerState & {
  /** No reading of the stream was ever stored, so its table cannot hold a record of the profile. */
  readonly unread: boolean
  /** Whether tags of readings are kept for the row, and count. */
  readonly tagged: boolean
  /** Tags of the stream were found to be false: no tag is kept. */
  readonly falseTags: boolean
  /** When the newest stored reading was sent; null before the first. */
  readonly readAtMs: number | null
  /** Whether a cause was given for an empty day of the row. */
  readonly explained: boolean
  /** The covered spans; none where they neither touch nor overlap the reading's window. */
  readonly coveredBefore: readonly Span[]
  /** The settle time that the measured lateness asks for; null before it was ever computed. */
  readonly measuredSettleMs: number | null
  readonly suspicions: readonly Suspicion[]
  /** The days that came in another unit than the known one. */
  readonly unitDoubts: readonly UnitDoubt[]
}

type LedgerStateRow = {
  profile_id: string
  stream: string
  generation: number
  recent: RecentWindowJson[]
  tagged: boolean
  explained: boolean
  false_tags: boolean
  read_at: number | null
  covered: SpanPairs
  settle_ms: number | null
  touched_at: number | null
  digesting: SpanPairs
  doubts: SuspicionJson[] | null
  unit_doubts: UnitDoubtJson[] | null
  rereads: RereadJson[]
}

/** Locks the ledger rows of these readings, always in the same order, and reads them. An erased profile has no row. */
export async function lockLedgerRows(
  tx: Tx,
  readings: readonly (ProfileStream & Pick<Reading, 'window'>)[],
  account: string,
): Promise<Map<string, LockedLedgerRow>> {
  const { rows } = await tx.query<LedgerStateRow>({
    name: 'lock ledger',
    text: `select l.profile_id, l.stream, l.generation::float8 as generation, l.recent, l.doubts, l.unit_doubts,
        l.tagged, ${falseTagsSql} as false_tags, ${epochMsSql('l.read_at')} as read_at, ${epochMsSql('l.touched_at')} as touched_at, l.rereads, t.settle_ms,
        l.explained, case when l.covered && i.span or l.covered -|- i.span then ${spanPairsSql('l.covered')} end as covered,
        ${spanPairsSql('l.digesting')} as digesting
      from vitalsync.ledger l
      join (select u.profile_id, u.stream, tstzrange(u.from_at, u.to_at) as span
          from unnest($1::int8[], $2::text[], $3::timestamptz[], $4::timestamptz[]) as u(profile_id, stream, from_at, to_at)) i
        on l.profile_id = i.profile_id and l.stream = i.stream
      left join vitalsync.settle_times t on t.account = $5 and t.stream = l.stream
      where ${namedSql(tx, 'l.profile_id', '$1')}
      order by l.profile_id, l.stream for update of l`,
    values: [
      binaryColumn('int8', readings, ({ profileId }) => profileId),
      binaryColumn('text', readings, ({ stream }) => stream.name),
      binaryColumn('timestamptz', readings, ({ window }) => window.startMs * 1000),
      binaryColumn('timestamptz', readings, ({ window }) => window.endMs * 1000),
      account,
    ],
  })
  return new Map(rows.map((row) => [keyOf(row.profile_id, row.stream), toLockedLedgerRow(row)]))
}

const toLockedLedgerRow = (row: LedgerStateRow): LockedLedgerRow => ({
  unread: row.read_at === null,
  tagged: row.tagged,
  explained: row.explained,
  falseTags: row.false_tags,
  readAtMs: row.read_at,
  coveredBefore: spansFromPairs(row.covered),
  measuredSettleMs: row.settle_ms,
  generation: row.generation,
  awaiting: awaitingPartsOf(row),
  recent: row.recent.map(recentWindowFromJson),
  suspicions: (row.doubts ?? []).map(([startMs, endMs, sentAtMs, lackedHashes]) => ({
    startMs,
    endMs,
    sentAtMs,
    lackedHashes,
  })),
  unitDoubts: (row.unit_doubts ?? []).map(([startMs, endMs, readings, units]) => ({ startMs, endMs, readings, units })),
})

/** A suspicion as the ledger stores it. */
type SuspicionJson = [number, number, number, readonly number[]]

/** A day in another unit as the ledger stores it. */
type UnitDoubtJson = [number, number, number, readonly string[]]

/** Remembers what readings lacked that were not believed. */
export const writeSuspicions = (
  tx: Tx,
  entries: ReadonlyArray<ProfileStream & { readonly suspicions: readonly Suspicion[] }>,
): Promise<void> =>
  writeDoubts(tx, 'doubts', {
    entries,
    doubtsOf: ({ suspicions }) =>
      suspicions.map(
        ({ startMs, endMs, sentAtMs, lackedHashes }): SuspicionJson => [startMs, endMs, sentAtMs, lackedHashes],
      ),
  })

/** Remembers the days that came in another unit. */
export const writeUnitDoubts = (
  tx: Tx,
  entries: ReadonlyArray<ProfileStream & { readonly unitDoubts: readonly UnitDoubt[] }>,
): Promise<void> =>
  writeDoubts(tx, 'unit_doubts', {
    entries,
    doubtsOf: ({ unitDoubts }) =>
      unitDoubts.map(({ startMs, endMs, readings, units }): UnitDoubtJson => [startMs, endMs, readings, units]),
  })

/** Few ledger rows ever have any: without one, the column is null. */
async function writeDoubts<Entry extends ProfileStream>(
  tx: Tx,
  column: 'doubts' | 'unit_doubts',
  { entries, doubtsOf }: { readonly entries: readonly Entry[]; doubtsOf(entry: Entry): readonly unknown[] },
): Promise<void> {
  await tx.query({
    name: `write ${column}`,
    text: `update vitalsync.ledger l set ${column} = i.doubts::jsonb
      from unnest($1::int8[], $2::text[], $3::text[]) as i(profile_id, stream, doubts)
      where l.profile_id = i.profile_id and l.stream = i.stream and ${namedSql(tx, 'l.profile_id', '$1')}`,
    values: [
      binaryColumn('int8', entries, ({ profileId }) => profileId),
      binaryColumn('text', entries, ({ stream }) => stream.name),
      binaryColumn('text', entries, (entry) => {
        const doubts = doubtsOf(entry)
        return doubts.length > 0 ? JSON.stringify(doubts) : null
      }),
    ],
  })
}

/** The change of a ledger row by a settled reading. */
type LedgerChange = ProfileStream &
  Pick<Reading, 'window' | 'sentAtMs'> &
  Pick<Admission, 'recent'> &
  CoverageChange & {
    readonly rule: SettleRule
    /** Whether a refusal of the window counts as ended. */
    readonly believed: boolean
  }

/**
 * Writes what is covered and was read, and ends refusals. Windows shift from day to day, so a refusal that is due for
 * another try counts as ended when a part of its span was read: if upstream refuses the rest again, a new refusal is written.
 */
export async function writeLedgerRows(tx: Tx, entries: readonly LedgerChange[]): Promise<void> {
  if (entries.length === 0) return
  const column = (type: ColumnType, cell: (entry: LedgerChange) => ColumnValue) => binaryColumn(type, entries, cell)
  await tx.query({
    name: 'write ledger',
    text: `with input as materialized (
        select profile_id, stream, covers::tstzmultirange as covers, recent::jsonb as recent, sent_at,
          tstzrange(from_at, to_at) as span, digesting::tstzmultirange as digesting, rereads::jsonb as rereads, digested_at,
          uncovers::tstzmultirange as uncovers
        from unnest($1::int8[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::timestamptz[], $7::timestamptz[],
            $8::text[], $9::text[], $10::timestamptz[], $11::text[])
          as u(profile_id, stream, covers, recent, sent_at, from_at, to_at, digesting, rereads, digested_at, uncovers)
      ), ended as (
        delete from vitalsync.refusals f using input i
        where f.profile_id = i.profile_id and f.stream = i.stream and f.span && i.span and ${namedSql(tx, 'f.profile_id', '$1')}
          and (f.span <@ i.span or f.next_try_at <= statement_timestamp())
      )
      update vitalsync.ledger l set covered = l.covered + i.covers - i.uncovers, recent = i.recent,
        read_at = greatest(l.read_at, i.sent_at), digesting = i.digesting, rereads = i.rereads,
        digested_at = coalesce(i.digested_at, '-infinity')
      from input i where l.profile_id = i.profile_id and l.stream = i.stream and ${namedSql(tx, 'l.profile_id', '$1')}`,
    values: [
      column('int8', ({ profileId }) => profileId),
      column('text', ({ stream }) => stream.name),
      column('text', ({ covers }) => toMultirange(covers)),
      column('text', ({ recent }) => JSON.stringify(recent.map(recentWindowToJson))),
      column('timestamptz', ({ sentAtMs }) => sentAtMs * 1000),
      column('timestamptz', ({ window }) => window.startMs * 1000),
      column('timestamptz', ({ window, believed }) => (believed ? window.endMs : window.startMs) * 1000),
      column('text', ({ awaiting }) => toMultirange(awaiting.filter(isUnread))),
      column('text', ({ awaiting }) => JSON.stringify(rereadsToJson(awaiting))),
      column('timestamptz', nextReadingMicros),
      column('text', ({ uncovers }) => toMultirange(uncovers)),
    ],
  })
}

/**
 * When the next reading of what awaits upstream counts. Parts that this reading could have read and did not are left out: they
 * belong to other windows of the same job, or lie before the wanted span, where nobody reads.
 */
function nextReadingMicros({ awaiting, sentAtMs, rule }: LedgerChange): number | null {
  const nextMs = awaiting.map((part) => nextReadingAtMs(part, rule)).filter((ms) => ms > sentAtMs)
  return nextMs.length === 0 ? null : Math.ceil(Math.min(...nextMs)) * 1000
}

/** The text of a `tstzmultirange`. */
const toMultirange = (spans: readonly Span[]): string =>
  `{${spans.map(({ startMs, endMs }) => `[${boundText(startMs)},${boundText(endMs)})`).join(',')}}`

/** An empty text means an open end. */
const boundText = (ms: number): string => (Number.isFinite(ms) ? `"${new Date(ms).toISOString()}"` : '')

/** Parts that a push touched and nothing has read since are in a column of their own, which a push updates alone. */
const isUnread = ({ readAtMs, isSuspect }: AwaitingPart): boolean => readAtMs === null && !isSuspect

/** A part that is read again, as the ledger stores it: start, end, pushed, read, readings; then 1 if it is suspect. */
type RereadJson = [number | null, number | null, number, number | null, number, 1?]

const rereadsToJson = (parts: readonly AwaitingPart[]): RereadJson[] =>
  parts
    .filter((part) => !isUnread(part))
    .map(({ startMs, endMs, touchedAtMs, readAtMs, readings, isSuspect }) =>
      isSuspect
        ? [startMs, endMs, touchedAtMs, readAtMs, readings, 1]
        : [startMs, endMs, touchedAtMs, readAtMs, readings],
    )

/** A push that touches a part that was read since the push before restarts the agreement. */
function awaitingPartsOf({ digesting, touched_at, rereads }: LedgerStateRow): AwaitingPart[] {
  const unread = spansFromPairs(digesting)
  const read = rereads.flatMap(([start, end, touchedAtMs, readAtMs, readings, suspect]) =>
    subtract(spansFromPairs([[start, end]]), unread).map((span) => ({
      ...span,
      ...{ touchedAtMs, readAtMs, readings },
      ...(suspect ? { isSuspect: true as const } : {}),
    })),
  )
  const touchedAtMs = touched_at ?? 0
  return [...read, ...unread.map((span) => ({ ...span, touchedAtMs, readAtMs: null, readings: 0 }))]
}

/**
 * A recent reading as the ledger stores it: start, end, sent; then, if a record crossed the window's edges, the key hashes of
 * these records; then 1 if one of them had begun before the window.
 */
type RecentWindowJson = [number, number, number, number[]?, 1?]

function recentWindowToJson(recent: RecentWindow): RecentWindowJson {
  const { startMs, endMs, sentAtMs, crossingHashes, reachesBack } = recent
  if (crossingHashes.length === 0) return [startMs, endMs, sentAtMs]
  return reachesBack
    ? [startMs, endMs, sentAtMs, [...crossingHashes], 1]
    : [startMs, endMs, sentAtMs, [...crossingHashes]]
}

const recentWindowFromJson = ([startMs, endMs, sentAtMs, hashes = [], back]: RecentWindowJson): RecentWindow => ({
  startMs,
  endMs,
  sentAtMs,
  crossingHashes: hashes,
  reachesBack: back === 1,
})
