import type { LogKind, StreamNeeds } from '../../../base/contract/log-evidence.ts'
import { type Span, subtract, union } from '../../../base/time/spans.ts'
import { DAY } from '../../../base/time/units.ts'
import {
  type DayLogs,
  type EmptyDay,
  type Explained,
  emptyRules,
  explainEmptyDay,
  type KindOfDay,
} from '../../ledger/empty-causes.ts'
import type { PulledStream } from '../../transfer/stream.ts'
import { type LockedLedgerRow, profileStreamKey } from '../ledger/ledger-rows.ts'
import { binaryColumn } from '../postgres/binary-format.ts'
import { epochMsSql, recordStartsSql } from '../postgres/sql-time.ts'
import { namedSql, pipelined, type Tx } from '../postgres/warehouse-pool.ts'
import type { SettledReading } from './record-rows.ts'

/** A day that a reading has settled. `isFilled`: the reading has a record of it. */
type SettledDay = { readonly profileId: string; readonly day: number; readonly isFilled: boolean }
type PersonDay = Pick<SettledDay, 'profileId' | 'day'>
/** `former`: the causes of the day until now, as JSON. */
type FoundDay = PersonDay & { readonly former: string }

/** The settled days of one stream that may be empty, or that were. */
type DaysOfStream = {
  readonly stream: PulledStream
  readonly needs: StreamNeeds
  readonly days: readonly SettledDay[]
}

/** The days that these readings settle and about whose cause the database must be asked: none where each has a record in its reading. */
export const daysToExplain = (
  settled: readonly SettledReading[],
  ledger: ReadonlyMap<string, LockedLedgerRow>,
): DaysOfStream[] =>
  [...Map.groupBy(settled, ({ stream }) => stream)].flatMap(([stream, readings]) => {
    const { needs } = stream
    if (!needs) return []
    const days = readings.flatMap((reading) => settledDays(reading, ledger.get(profileStreamKey(reading))))
    return days.length === 0 ? [] : [{ stream, needs, days }]
  })

/**
 * Says of each settled day that has no record why it has none, in the commit that settles it. A day whose records came after all is
 * noted as that.
 */
export async function explainEmptyDays(
  tx: Tx,
  explaining: readonly DaysOfStream[],
  { ledger, nowMs }: { readonly ledger: ReadonlyMap<string, LockedLedgerRow>; readonly nowMs: number },
): Promise<void> {
  const found = await pipelined(explaining.map(({ stream, days }) => findEmptyDays(tx, stream, days)))
  const evidence = await readEvidence(
    tx,
    found.flatMap(({ empty }) => empty),
    explaining.flatMap(({ stream }) => Object.keys(stream.touchedBy)),
  )
  const causes = explaining.flatMap(({ stream, needs }, index): GivenCause[] => {
    const { empty = [], filled = [] } = found[index] ?? {}
    return [
      ...empty.map((day) => ({ ...day, stream, ...explainEmptyDay({ ...evidence(day), needs, nowMs }) })),
      ...filled.map((day) => ({ ...day, stream, cause: 'data' as const, evidence: {} })),
    ]
  })
  if (causes.length === 0) return
  const isMarked = (cause: GivenCause) => ledger.get(profileStreamKey(cause))?.explained === true
  await pipelined<unknown>([
    writeCauses(tx, causes, nowMs),
    ...markExplained(
      tx,
      causes.filter((cause) => !isMarked(cause)),
    ),
  ])
}

/**
 * The days of UTC that a reading covers, whole with what was covered before, and not without it: a push of logs makes the days due again
 * whose causes it may change. Days with a record count only where a cause is known.
 */
function settledDays(reading: SettledReading, row: LockedLedgerRow | undefined): SettledDay[] {
  const { covers, uncovers, rows, profileId } = reading
  const coveredBefore = row?.coveredBefore ?? []
  const fresh = subtract(covers, coveredBefore)
  if (fresh.length === 0) return []
  const covered = subtract(union([...coveredBefore, ...covers]), uncovers)
  const withRecord = new Set(rows.map(({ localDateMs }) => localDateMs))
  // Two spans may lie in one day, on both sides of what was covered before.
  const days = new Set<number>()
  for (const { startMs, endMs } of fresh) {
    for (let day = Math.floor(startMs / DAY); day * DAY < endMs; day += 1) days.add(day)
  }
  return [...days].flatMap((day) => {
    const isFilled = withRecord.has(day * DAY)
    return (isFilled ? row?.explained : isWhole(covered, day)) ? [{ profileId, day, isFilled }] : []
  })
}

const isWhole = (covered: readonly Span[], day: number): boolean =>
  covered.some(({ startMs, endMs }) => startMs <= day * DAY && endMs >= (day + 1) * DAY)

/** The days without a record in the warehouse, and those that have a cause although they have one. */
async function findEmptyDays(
  tx: Tx,
  { name, table, startColumn }: PulledStream,
  days: readonly SettledDay[],
): Promise<{ empty: FoundDay[]; filled: FoundDay[] }> {
  const starts = recordStartsSql('i.day')
  const { rows } = await tx.query<{ n: number; cause: string | null; former: string; has_records: boolean }>({
    name: `find empty days of ${name}`,
    text: `select i.n::int as n, e.cause, case when e.cause is null then '[]' else jsonb_path_query_array(
            e.former || jsonb_build_object('cause', e.cause, 'since', e.computed_at), '$[last - 7 to last]')::text end as former,
        i.is_filled or exists (select from vitalsync.${table} r where r.profile_id = i.profile_id
          and ${namedSql(tx, 'r.profile_id', '$1')} and r.local_date = i.day and r.gone_at is null
          and r.${startColumn} >= ${starts.first} and r.${startColumn} < ${starts.end}) as has_records
      from unnest($1::int8[], $2::date[], $3::bool[]) with ordinality as i(profile_id, day, is_filled, n)
      left join vitalsync.empty_days e on e.profile_id = i.profile_id and e.stream = $4 and e.local_date = i.day
        and ${namedSql(tx, 'e.profile_id', '$1')}`,
    values: [
      binaryColumn('int8', days, ({ profileId }) => profileId),
      binaryColumn('date', days, ({ day }) => day * DAY),
      binaryColumn('bool', days, ({ isFilled }) => isFilled),
      name,
    ],
  })
  const [empty, filled]: [FoundDay[], FoundDay[]] = [[], []]
  for (const { n, cause, former, has_records } of rows) {
    const settled = days[n - 1]
    if (!settled) continue
    const day = { ...settled, former }
    if (!has_records) empty.push(day)
    else if (cause !== null && cause !== 'data') filled.push(day)
  }
  return { empty, filled }
}

/** Reads the evidence about these days, once for all streams. */
async function readEvidence(
  tx: Tx,
  days: readonly PersonDay[],
  pushed: readonly string[],
): Promise<(day: PersonDay) => Omit<EmptyDay, 'needs' | 'nowMs'>> {
  const unique = [...new Map(days.map((day) => [`${day.profileId} ${day.day}`, day])).values()]
  const reading =
    unique.length === 0
      ? []
      : [readDaysAround(tx, unique), readLogDays(tx, unique), readTroubles(tx, unique, [...new Set(pushed)])]
  const [around, logs, troubles] = (await pipelined<unknown>(reading)) as [Around, Logs, Troubles]
  return ({ profileId, day }) => {
    const trouble = troubles.get(`${profileId} ${day}`)
    return {
      day,
      around: near(around.get(profileId) ?? new Map<number, DayLogs>(), day),
      logs: logs.get(`${profileId} ${day}`) ?? new Map(),
      eveningBefore: logs.get(`${profileId} ${day - 1}`) ?? new Map(),
      isWaiting: trouble?.waiting ?? false,
      isRefused: trouble?.refused ?? false,
    }
  }
}

const near = (known: ReadonlyMap<number, DayLogs>, day: number): ReadonlyMap<number, DayLogs> =>
  new Map([...known].filter(([at]) => at >= day - emptyRules.daysBefore && at <= day + emptyRules.daysAfter))

type Around = ReadonlyMap<string, ReadonlyMap<number, DayLogs>>

async function readDaysAround(tx: Tx, days: readonly PersonDay[]): Promise<Around> {
  const people = [...Map.groupBy(days, ({ profileId }) => profileId)].map(([profileId, daysOfPerson]) => ({
    profileId,
    first: Math.min(...daysOfPerson.map(({ day }) => day)) - emptyRules.daysBefore,
    last: Math.max(...daysOfPerson.map(({ day }) => day)) + emptyRules.daysAfter,
  }))
  const { rows } = await tx.query<{ profile_id: string; day: number; kinds: string; first_ms: number }>({
    name: 'read days around',
    text: `select d.profile_id, d.local_date - date '1970-01-01' as day, string_agg(d.kind, ' ') as kinds, ${epochMsSql('min(d.first_at)')} as first_ms
      from unnest($1::int8[], $2::date[], $3::date[]) as i(profile_id, first_day, last_day)
      join vitalsync.log_days d on d.profile_id = i.profile_id and d.local_date between i.first_day and i.last_day
        and ${namedSql(tx, 'd.profile_id', '$1')}
      group by d.profile_id, d.local_date`,
    values: [
      binaryColumn('int8', people, ({ profileId }) => profileId),
      binaryColumn('date', people, ({ first }) => first * DAY),
      binaryColumn('date', people, ({ last }) => last * DAY),
    ],
  })
  const around = new Map<string, Map<number, DayLogs>>()
  for (const { profile_id, day, kinds, first_ms } of rows) {
    const known = around.get(profile_id) ?? new Map<number, DayLogs>()
    around.set(profile_id, known.set(day, { kinds: kinds.split(' ') as LogKind[], firstAtMs: first_ms }))
  }
  return around
}

type Logs = ReadonlyMap<string, ReadonlyMap<LogKind, KindOfDay>>
type LogDayRow = {
  profile_id: string
  day: number
  kind: LogKind
  minutes: Buffer
  first_parcel: number
  last_parcel: number
  device: string
  revised: boolean
}

/** Postgres sends a bit string as the number of its bits, in four bytes, and then the bits. */
const BIT_COUNT_BYTES = 4

/** The logs of the days, and of the evenings before. */
async function readLogDays(tx: Tx, days: readonly PersonDay[]): Promise<Logs> {
  const { rows } = await tx.query<LogDayRow>({
    name: 'read log days',
    text: `select d.profile_id, d.local_date - date '1970-01-01' as day, d.kind, bit_send(d.minutes) as minutes, d.device, d.revised,
        d.first_parcel::float8 as first_parcel, d.last_parcel::float8 as last_parcel
      from (select profile_id, day from unnest($1::int8[], $2::date[]) as u(profile_id, day)
        union select profile_id, day - 1 from unnest($1::int8[], $2::date[]) as u(profile_id, day)) i
      join vitalsync.log_days d on d.profile_id = i.profile_id and d.local_date = i.day and ${namedSql(tx, 'd.profile_id', '$1')}`,
    values: personDayColumns(days),
  })
  const logs = new Map<string, Map<LogKind, KindOfDay>>()
  for (const row of rows) {
    const key = `${row.profile_id} ${row.day}`
    const kinds = logs.get(key) ?? new Map<LogKind, KindOfDay>()
    const { device, revised: isRevised, first_parcel: firstParcel, last_parcel: lastParcel } = row
    logs.set(
      key,
      kinds.set(row.kind, {
        minutes: row.minutes.subarray(BIT_COUNT_BYTES),
        device,
        isRevised,
        firstParcel,
        lastParcel,
      }),
    )
  }
  return logs
}

type Trouble = { readonly waiting: boolean; readonly refused: boolean }
type Troubles = ReadonlyMap<string, Trouble>

/** Days with logs that upstream has not accepted. */
async function readTroubles(tx: Tx, days: readonly PersonDay[], pushed: readonly string[]): Promise<Troubles> {
  const touches = (start: string, end: string) =>
    `${start} < i.day::timestamp at time zone 'UTC' + interval '36 hours' and ${end} >= i.day::timestamp at time zone 'UTC' - interval '14 hours'`
  const { rows } = await tx.query<PersonDay & Trouble>({
    name: 'read troubles of days',
    text: `select i.profile_id as "profileId", i.day - date '1970-01-01' as day,
        exists (select from vitalsync.parcels o where o.profile_id = i.profile_id and ${namedSql(tx, 'o.profile_id', '$1')}
          and o.stream = any($3) and ${touches('o.start_at', 'o.last_end_at')}) as waiting,
        exists (select from vitalsync.quarantine q where q.profile_id = i.profile_id and ${namedSql(tx, 'q.profile_id', '$1')}
          and q.stream = any($3) and q.direction = 'push' and ${touches('q.start_at', 'q.end_at')}) as refused
      from unnest($1::int8[], $2::date[]) as i(profile_id, day)`,
    values: [...personDayColumns(days), pushed],
  })
  return new Map(rows.map(({ profileId, day, waiting, refused }) => [`${profileId} ${day}`, { waiting, refused }]))
}

const personDayColumns = (days: readonly PersonDay[]) => [
  binaryColumn('int8', days, ({ profileId }) => profileId),
  binaryColumn('date', days, ({ day }) => day * DAY),
]

type GivenCause = FoundDay & { readonly stream: PulledStream } & Omit<Explained, 'cause'> & {
    readonly cause: Explained['cause'] | 'data'
  }

/** A cause that has changed keeps those before it, which the select has built: an update of a divided warehouse builds no JSON of an instant. */
const writeCauses = (tx: Tx, causes: readonly GivenCause[], nowMs: number) =>
  tx.query({
    name: 'write empty days',
    text: `insert into vitalsync.empty_days as e (profile_id, stream, local_date, cause, until_at, evidence, former, computed_at)
      select profile_id, stream, day, cause, until_at, evidence::jsonb, former::jsonb, $8::timestamptz
      from unnest($1::int8[], $2::date[], $3::text[], $4::timestamptz[], $5::text[], $6::text[], $7::text[])
        as i(profile_id, day, cause, until_at, evidence, stream, former)
      on conflict (profile_id, stream, local_date) do update set cause = excluded.cause, until_at = excluded.until_at,
        evidence = excluded.evidence,
        computed_at = case when e.cause = excluded.cause then e.computed_at else excluded.computed_at end,
        former = case when e.cause = excluded.cause then e.former else excluded.former end
      where (e.cause, e.until_at, e.evidence) is distinct from (excluded.cause, excluded.until_at, excluded.evidence)`,
    values: [
      ...personDayColumns(causes),
      binaryColumn('text', causes, ({ cause }) => cause),
      binaryColumn('timestamptz', causes, ({ untilMs }) => (untilMs === undefined ? null : untilMs * 1000)),
      binaryColumn('text', causes, ({ evidence }) => JSON.stringify(evidence)),
      binaryColumn('text', causes, ({ stream }) => stream.name),
      binaryColumn('text', causes, ({ former }) => former),
      new Date(nowMs),
    ],
  })

/** Marks each stream of a person that has a cause now. Without the mark, no cause is looked up. */
const markExplained = (tx: Tx, causes: readonly GivenCause[]) =>
  [...Map.groupBy(causes, ({ stream }) => stream.name)].map(([stream, ofStream]) =>
    tx.query({
      name: 'mark explained',
      text: `update vitalsync.ledger l set explained = true where l.profile_id = any($1::int8[]) and l.stream = $2`,
      values: [[...new Set(ofStream.map(({ profileId }) => profileId))], stream],
    }),
  )
