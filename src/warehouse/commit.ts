import { spansOf } from '../coverage.ts'
import { isTheirs, judge, type LedgerState, type RecentReading, type Verdict } from '../planner.ts'
import type { PulledStream } from '../stream.ts'
import { binaryArray } from './binary-arrays.ts'
import type { Tx } from './pool.ts'
import { crossingOf, digestOf, type OddRecord, periodOf, type Row, type SourceRecord, shortNameOf } from './rows.ts'
import { type GroupedReading, storeParameters, storeStatement } from './statements.ts'

/** One answer of upstream for one window of one stream of one profile, on its way into the warehouse. */
export type StoreRequest = {
  readonly stream: PulledStream
  readonly profileId: string
  readonly window: { readonly from: number; readonly to: number }
  /** The ledger's generation when the reading was planned, before its request was sent. */
  readonly generation: number
  readonly sentAtMs: number
  readonly serverAtMs: number | undefined
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

/** A request whose records were made ready for the table. */
export type Prepared = {
  readonly request: StoreRequest
  readonly rows: readonly Row[]
  readonly odd: readonly OddRecord[]
}

/**
 * Stores a group of readings and what the ledger may say about them, in the transaction it is given.
 * At most one reading per profile and stream: a statement cannot write the same record twice.
 */
export async function storeGroup(tx: Tx, group: readonly Prepared[], nowMs: number): Promise<Stored[]> {
  const states = await lockLedger(tx, group)
  const judged = group.map((pending) => ({ pending, verdict: verdictOf(pending, states.get(nameOf(pending)), nowMs) }))
  const admitted = judged.filter(isAdmitted)
  const written = new Map<Prepared, number>()

  for (const [stream, members] of Map.groupBy(admitted, ({ pending }) => pending.request.stream)) {
    const readings = members.map(({ pending, verdict }) => toGrouped(pending, verdict))
    if (readings.every((reading) => reading.rows.length === 0 && !reading.complete)) continue
    const { rows } = await tx.query<{ profile_id: string; written: number }>({
      name: `store ${stream.name}`,
      text: storeStatement(stream),
      values: storeParameters(stream, readings),
    })
    const byProfile = new Map(rows.map((row) => [row.profile_id, row.written]))
    for (const { pending } of members) written.set(pending, byProfile.get(pending.request.profileId) ?? 0)
  }
  await writeLedger(tx, admitted)
  await forgetRefusals(tx, admitted)
  await keepOdd(tx, admitted, nowMs)
  return judged.map(({ pending, verdict }) => ({
    outcome: verdict === 'erased' ? 'erased' : verdict.kind === 'too-old' ? 'too-old' : 'stored',
    read: pending.rows.length,
    written: written.get(pending) ?? 0,
    odd: pending.odd.length,
  }))
}

type Admitted = { pending: Prepared; verdict: Extract<Verdict, { kind: 'admitted' }> }

const isAdmitted = (judged: { pending: Prepared; verdict: Verdict | 'erased' }): judged is Admitted =>
  judged.verdict !== 'erased' && judged.verdict.kind === 'admitted'

const nameOf = ({ request }: Prepared) => `${request.stream.name} ${request.profileId}`

function verdictOf(pending: Prepared, state: LedgerState | undefined, nowMs: number): Verdict | 'erased' {
  if (!state) return 'erased'
  const { request } = pending
  return judge(
    {
      span: request.window,
      whole: request.stream.kind === 'snapshot',
      crossing: crossingOf(pending.rows, request.window),
      sentAtMs: request.sentAtMs,
      serverAtMs: request.serverAtMs,
      generation: request.generation,
      settleMs: request.stream.settleMs,
    },
    state,
    nowMs,
  )
}

function toGrouped(pending: Prepared, verdict: Admitted['verdict']): GroupedReading {
  const { request, rows } = pending
  const { newer } = verdict
  const ours = (row: Row) =>
    request.stream.kind === 'windowed' && !isTheirs({ ...periodOf(row), name: shortNameOf(row) }, newer)
  return {
    profileId: request.profileId,
    fromMs: request.window.from,
    toMs: request.window.to,
    sentAtMs: request.sentAtMs,
    rows: newer.length === 0 ? rows : rows.filter(ours),
    // What is missing is gone, unless a part of the answer could not be read.
    complete: verdict.complete && pending.odd.length === 0,
  }
}

/** A recent reading as the ledger keeps it: start, end, sent, and the names of what crossed its edges, if anything did. */
type KeptReading = [number, number, number, number[]?]

const toKept = ({ from, to, sentAtMs, crossing }: RecentReading): KeptReading =>
  crossing.length === 0 ? [from, to, sentAtMs] : [from, to, sentAtMs, [...crossing]]

/** Locks the ledger rows of the group, always in the same order, and says what they hold. */
async function lockLedger(tx: Tx, group: readonly Prepared[]): Promise<Map<string, LedgerState>> {
  const { rows } = await tx.query({
    name: 'lock ledger',
    text: `select l.profile_id, l.stream, l.generation::float8 as generation, l.recent,
        (extract(epoch from nullif(l.digested_at, '-infinity')) * 1000)::float8 as digested_at,
        case when l.digesting = '{}' then null else
          (select json_agg(json_build_array(extract(epoch from lower(r)) * 1000, extract(epoch from upper(r)) * 1000))
           from unnest(l.digesting) r) end as digesting
      from vitalsync.ledger l join unnest($1::int8[], $2::text[]) as i(profile_id, stream)
        on l.profile_id = i.profile_id and l.stream = i.stream
      order by l.profile_id, l.stream for update of l`,
    values: [
      binaryArray(
        'int8',
        group.map(({ request }) => request.profileId),
      ),
      binaryArray(
        'text',
        group.map(({ request }) => request.stream.name),
      ),
    ],
  })
  return new Map(
    rows.map((row) => [
      `${row.stream} ${row.profile_id}`,
      {
        generation: row.generation,
        digestedAtMs: row.digested_at ?? Number.NEGATIVE_INFINITY,
        digesting: spansOf(row.digesting),
        recent: (row.recent as KeptReading[]).map(([from, to, sentAtMs, crossing = []]) => ({
          from,
          to,
          sentAtMs,
          crossing,
        })),
      },
    ]),
  )
}

async function writeLedger(tx: Tx, admitted: readonly Admitted[]): Promise<void> {
  if (admitted.length === 0) return
  const spans = admitted.map(({ verdict }) => verdict.covers)
  await tx.query({
    name: 'write ledger',
    text: `update vitalsync.ledger l set
        covered = l.covered + i.covers::tstzmultirange,
        recent = i.recent::jsonb,
        read_at = greatest(l.read_at, i.sent_at),
        digesting = case when i.sent_at >= l.digested_at then l.digesting - i.covers::tstzmultirange else l.digesting end
      from unnest($1::int8[], $2::text[], $3::text[], $4::text[], $5::timestamptz[])
        as i(profile_id, stream, covers, recent, sent_at)
      where l.profile_id = i.profile_id and l.stream = i.stream`,
    values: [
      binaryArray(
        'int8',
        admitted.map(({ pending }) => pending.request.profileId),
      ),
      binaryArray(
        'text',
        admitted.map(({ pending }) => pending.request.stream.name),
      ),
      binaryArray('text', spans.map(toMultirange)),
      binaryArray(
        'text',
        admitted.map(({ verdict }) => JSON.stringify(verdict.recent.map(toKept))),
      ),
      binaryArray(
        'timestamptz',
        admitted.map(({ pending }) => pending.request.sentAtMs * 1000),
      ),
    ],
  })
}

export const toMultirange = (spans: ReadonlyArray<{ from: number; to: number }>): string =>
  `{${spans.map(({ from, to }) => `["${new Date(from).toISOString()}","${new Date(to).toISOString()}")`).join(',')}}`

/**
 * A refusal ends with a reading of its span. Windows shift from day to day, so one that was due for another try counts
 * as ended when a part of it was read: if the rest is refused again, it is written down again.
 */
async function forgetRefusals(tx: Tx, admitted: readonly Admitted[]): Promise<void> {
  await tx.query({
    name: 'forget refusals',
    text: `delete from vitalsync.refusals f
      using unnest($1::int8[], $2::text[], $3::timestamptz[], $4::timestamptz[]) as i(profile_id, stream, from_at, to_at)
      where f.profile_id = i.profile_id and f.stream = i.stream and f.span && tstzrange(i.from_at, i.to_at)
        and (f.span <@ tstzrange(i.from_at, i.to_at) or f.next_try_at <= clock_timestamp())`,
    values: [
      binaryArray(
        'int8',
        admitted.map(({ pending }) => pending.request.profileId),
      ),
      binaryArray(
        'text',
        admitted.map(({ pending }) => pending.request.stream.name),
      ),
      binaryArray(
        'timestamptz',
        admitted.map(({ pending }) => pending.request.window.from * 1000),
      ),
      binaryArray(
        'timestamptz',
        admitted.map(({ pending }) => pending.request.window.to * 1000),
      ),
    ],
  })
}

/** Odd records are set aside whole, once each; seen again they only count up. */
async function keepOdd(tx: Tx, admitted: readonly Admitted[], nowMs: number): Promise<void> {
  const odd = admitted.flatMap(({ pending }) => pending.odd.map((record) => ({ record, request: pending.request })))
  const once = [...new Map(odd.map((one) => [`${nameOfOdd(one)}`, one])).values()]
  if (once.length === 0) return
  const now = new Date(nowMs).toISOString()
  await tx.query({
    name: 'keep odd',
    text: `insert into vitalsync.quarantine
        (profile_id, stream, direction, digest, path, reason, body, first_seen_at, last_seen_at)
      select i.profile_id, i.stream, 'pull', i.digest, i.path, i.reason, i.body, $7, $7
      from unnest($1::int8[], $2::text[], $3::bytea[], $4::text[], $5::text[], $6::text[])
        as i(profile_id, stream, digest, path, reason, body)
      on conflict (profile_id, stream, direction, digest)
        do update set times = quarantine.times + 1, last_seen_at = excluded.last_seen_at, reason = excluded.reason`,
    values: [
      once.map(({ request }) => request.profileId),
      once.map(({ request }) => request.stream.name),
      once.map(({ record }) => digestOf(record.raw)),
      once.map(({ record }) => record.path),
      once.map(({ record }) => record.reason),
      once.map(({ record }) => record.raw.replaceAll('\u0000', '')),
      now,
    ],
  })
}

const nameOfOdd = ({ record, request }: { record: OddRecord; request: StoreRequest }) =>
  `${request.stream.name} ${request.profileId} ${digestOf(record.raw).toString('hex')}`
