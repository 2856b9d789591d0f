import { spansOf } from '../coverage.ts'
import { type Edges, isTheirs, judge, type LedgerState, type RecentReading, type Verdict } from '../planner.ts'
import type { PulledStream } from '../stream.ts'
import { binaryColumn, type Cell, type ColumnType } from './binary-arrays.ts'
import { compareStream, countWritten, writeRecords } from './compare.ts'
import { sentTogether, type Tx } from './pool.ts'
import { digestOf, edgesOf, type OddRecord, periodOf, type Row, type SourceRecord, shortNameOf } from './rows.ts'
import type { GroupedReading } from './statements.ts'

/** What was asked of upstream, and when: one window of one stream of one profile. */
export type Asked = {
  readonly stream: PulledStream
  readonly profileId: string
  readonly window: { readonly from: number; readonly to: number }
  /** The ledger's generation when the reading was planned, before its request was sent. */
  readonly generation: number
  readonly sentAtMs: number
  readonly serverAtMs: number | undefined
}

/** The same with upstream's answer, on its way into the warehouse. */
export type StoreRequest = Asked & {
  readonly records: readonly SourceRecord[]
  readonly odd: readonly OddRecord[]
}

export type Stored = {
  /** `erased`: the profile is no longer ours. `too-old`: the reading was overtaken long ago. Neither stores anything. */
  readonly outcome: 'stored' | 'erased' | 'too-old'
  readonly read: number
  readonly written: number
  readonly odd: number
}

/**
 * A request whose records were made ready for the table. What they were made of is let go: thousands of readings wait for
 * their commit at a time, and objects that live so long are what collecting garbage costs most for.
 */
export type Prepared = {
  readonly request: Asked
  readonly rows: readonly Row[]
  readonly odd: readonly OddRecord[]
}

/**
 * Stores a group of readings and what the ledger may say about them, in the transaction it is given.
 * At most one reading per profile and stream: a statement cannot write the same record twice.
 */
export async function storeGroup(tx: Tx, group: readonly Prepared[], nowMs: number): Promise<Stored[]> {
  const states = await lockLedger(tx, group)
  const judged = group.map((pending) => {
    const edges = edgesOf(pending.rows, pending.request.window)
    return { pending, edges, verdict: verdictOf({ pending, edges }, states.get(nameOf(pending)), nowMs) }
  })
  const admitted = judged.filter(isAdmitted)
  const streams = [...Map.groupBy(admitted, ({ pending }) => pending.request.stream)]
  const compared = await sentTogether(
    streams.map(([stream, members]) => {
      const isFirst = ({ pending }: Admitted) => states.get(nameOf(pending))?.unread === true
      const first = members.filter(isFirst).map(toGrouped)
      const later = members.filter((member) => !isFirst(member)).map(toGrouped)
      return compareStream(tx, stream, { first, later })
    }),
  )
  await sentTogether([writeRecords(tx, compared), writeLedger(tx, admitted), keepOdd(tx, admitted, nowMs)])
  const written = countWritten(compared)
  return judged.map(({ pending, verdict }) => ({
    outcome: verdict === 'erased' ? 'erased' : verdict.kind === 'too-old' ? 'too-old' : 'stored',
    read: pending.rows.length,
    written: written.get(nameOf(pending)) ?? 0,
    odd: pending.odd.length,
  }))
}

type Arrived = { pending: Prepared; edges: Edges }
type Admitted = Arrived & { verdict: Extract<Verdict, { kind: 'admitted' }> }

const isAdmitted = (judged: Arrived & { verdict: Verdict | 'erased' }): judged is Admitted =>
  judged.verdict !== 'erased' && judged.verdict.kind === 'admitted'

export const nameOf = ({ request }: Prepared) => `${request.stream.name} ${request.profileId}`

function verdictOf({ pending, edges }: Arrived, state: LedgerState | undefined, nowMs: number): Verdict | 'erased' {
  if (!state) return 'erased'
  const { request } = pending
  return judge(
    {
      span: request.window,
      whole: request.stream.kind === 'snapshot',
      ...edges,
      sentAtMs: request.sentAtMs,
      serverAtMs: request.serverAtMs,
      generation: request.generation,
      settleMs: request.stream.settleMs,
    },
    state,
    nowMs,
  )
}

function toGrouped({ pending, edges, verdict }: Admitted): GroupedReading {
  const { request, rows } = pending
  const { newer } = verdict
  const ours = (row: Row) =>
    request.stream.kind === 'windowed' && !isTheirs({ ...periodOf(row), name: shortNameOf(row) }, newer)
  return {
    profileId: request.profileId,
    fromMs: request.window.from,
    toMs: request.window.to,
    backToMs: request.window.from - (edges.reachesBack ? (request.stream.longestMs ?? 0) : 0),
    heldByNewer: newer.flatMap(({ crossing }) => crossing),
    sentAtMs: request.sentAtMs,
    rows: newer.length === 0 ? rows : rows.filter(ours),
    // What is missing is gone, unless a part of the answer could not be read.
    complete: verdict.complete && pending.odd.length === 0,
  }
}

/**
 * A recent reading as the ledger keeps it: start, end, sent, the names of what crossed its edges, if anything did, and 1 if
 * something reached back beyond its start.
 */
type KeptReading = [number, number, number, number[]?, 1?]

function toKept({ from, to, sentAtMs, crossing, reachesBack }: RecentReading): KeptReading {
  if (crossing.length === 0) return [from, to, sentAtMs]
  return reachesBack ? [from, to, sentAtMs, [...crossing], 1] : [from, to, sentAtMs, [...crossing]]
}

const fromKept = ([from, to, sentAtMs, crossing = [], back]: KeptReading): RecentReading => ({
  from,
  to,
  sentAtMs,
  crossing,
  reachesBack: back === 1,
})

/** `unread`: no reading was ever stored, so that there cannot be a record. */
type Locked = LedgerState & { readonly unread: boolean }

/** Locks the ledger rows of the group, always in the same order, and says what they hold. */
async function lockLedger(tx: Tx, group: readonly Prepared[]): Promise<Map<string, Locked>> {
  const { rows } = await tx.query({
    name: 'lock ledger',
    text: `select l.profile_id, l.stream, l.generation::float8 as generation, l.recent, l.read_at is null as unread,
        (extract(epoch from nullif(l.digested_at, '-infinity')) * 1000)::float8 as digested_at,
        case when l.digesting = '{}' then null else
          (select json_agg(json_build_array(extract(epoch from lower(r)) * 1000, extract(epoch from upper(r)) * 1000))
           from unnest(l.digesting) r) end as digesting
      from vitalsync.ledger l join unnest($1::int8[], $2::text[]) as i(profile_id, stream)
        on l.profile_id = i.profile_id and l.stream = i.stream
      order by l.profile_id, l.stream for update of l`,
    values: [
      binaryColumn('int8', group, ({ request }) => request.profileId),
      binaryColumn('text', group, ({ request }) => request.stream.name),
    ],
  })
  return new Map(
    rows.map((row) => [
      `${row.stream} ${row.profile_id}`,
      {
        unread: row.unread,
        generation: row.generation,
        digestedAtMs: row.digested_at ?? Number.NEGATIVE_INFINITY,
        digesting: spansOf(row.digesting),
        recent: (row.recent as KeptReading[]).map(fromKept),
      },
    ]),
  )
}

/**
 * Writes what is covered and was read, and ends refusals. Windows shift from day to day, so a refusal that was due for
 * another try counts as ended when a part of it was read: if the rest is refused again, it is written down again.
 */
async function writeLedger(tx: Tx, admitted: readonly Admitted[]): Promise<void> {
  if (admitted.length === 0) return
  const column = (type: ColumnType, cell: (one: Admitted) => Cell) => binaryColumn(type, admitted, cell)
  await tx.query({
    name: 'write ledger',
    text: `with input as materialized (
        select profile_id, stream, covers::tstzmultirange as covers, recent::jsonb as recent, sent_at,
          tstzrange(from_at, to_at) as span
        from unnest($1::int8[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::timestamptz[], $7::timestamptz[])
          as u(profile_id, stream, covers, recent, sent_at, from_at, to_at)
      ), ended as (
        delete from vitalsync.refusals f using input i
        where f.profile_id = i.profile_id and f.stream = i.stream and f.span && i.span
          and (f.span <@ i.span or f.next_try_at <= clock_timestamp())
      )
      update vitalsync.ledger l set covered = l.covered + i.covers, recent = i.recent,
        read_at = greatest(l.read_at, i.sent_at),
        digesting = case when i.sent_at >= l.digested_at then l.digesting - i.covers else l.digesting end
      from input i where l.profile_id = i.profile_id and l.stream = i.stream`,
    values: [
      column('int8', ({ pending }) => pending.request.profileId),
      column('text', ({ pending }) => pending.request.stream.name),
      column('text', ({ verdict }) => toMultirange(verdict.covers)),
      column('text', ({ verdict }) => JSON.stringify(verdict.recent.map(toKept))),
      column('timestamptz', ({ pending }) => pending.request.sentAtMs * 1000),
      column('timestamptz', ({ pending }) => pending.request.window.from * 1000),
      column('timestamptz', ({ pending }) => pending.request.window.to * 1000),
    ],
  })
}

export const toMultirange = (spans: ReadonlyArray<{ from: number; to: number }>): string =>
  `{${spans.map(({ from, to }) => `["${new Date(from).toISOString()}","${new Date(to).toISOString()}")`).join(',')}}`

/** Odd records are set aside whole, once each; seen again they only count up. */
async function keepOdd(tx: Tx, admitted: readonly Admitted[], nowMs: number): Promise<void> {
  const odd = admitted.flatMap(({ pending }) => pending.odd.map((record) => ({ record, request: pending.request })))
  const once = [...new Map(odd.map((one) => [`${nameOfOdd(one)}`, one])).values()]
  if (once.length === 0) return
  const now = new Date(nowMs).toISOString()
  await tx.query({
    name: 'keep odd',
    text: `insert into vitalsync.quarantine
        (profile_id, stream, direction, digest, path, reason, body, span, first_seen_at, last_seen_at)
      select i.profile_id, i.stream, 'pull', i.digest, i.path, i.reason, i.body, tstzrange(i.from_at, i.to_at), $9, $9
      from unnest($1::int8[], $2::text[], $3::bytea[], $4::text[], $5::text[], $6::text[], $7::timestamptz[], $8::timestamptz[])
        as i(profile_id, stream, digest, path, reason, body, from_at, to_at)
      on conflict (profile_id, stream, direction, digest)
        do update set times = quarantine.times + 1, last_seen_at = excluded.last_seen_at, reason = excluded.reason,
          span = excluded.span`,
    values: [
      once.map(({ request }) => request.profileId),
      once.map(({ request }) => request.stream.name),
      once.map(({ record }) => digestOf(record.raw)),
      once.map(({ record }) => record.path),
      once.map(({ record }) => record.reason),
      once.map(({ record }) => record.raw.replaceAll('\u0000', '')),
      once.map(({ request }) => new Date(request.window.from).toISOString()),
      once.map(({ request }) => new Date(request.window.to).toISOString()),
      now,
    ],
  })
}

const nameOfOdd = ({ record, request }: { record: OddRecord; request: Asked }) =>
  `${request.stream.name} ${request.profileId} ${digestOf(record.raw).toString('hex')}`
