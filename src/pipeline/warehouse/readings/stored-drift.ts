import type { Span } from '../../../base/time/spans.ts'
import { judgeUnits } from '../../ledger/changed-units.ts'
import { RecordExaminer } from '../../transfer/examine-records.ts'
import type { FieldCount, KnownCount } from '../../transfer/field-tally.ts'
import type { KnownRecords, Misfit } from '../../transfer/misfits.ts'
import type { PulledStream } from '../../transfer/stream.ts'
import { type LockedLedgerRow, profileStreamKey, writeUnitDoubts } from '../ledger/ledger-rows.ts'
import { binaryColumn } from '../postgres/binary-format.ts'
import type { Pool, Tx } from '../postgres/warehouse-pool.ts'
import type { AdmittedReading, PreparedReading } from '../readings/record-rows.ts'
import type { ReadingExaminer } from './reading-drift.ts'
import { TypeCounts } from './type-counts.ts'

/** Something unknown, as `warehouse.drift` names it. */
type DriftName = Misfit & { readonly stream: string }

/** Both must be reached before something is reported, but a unit, whose days do not settle. Where there are fewer people, all of them. */
const PEOPLE_MIN = 3
const RECORDS_MIN = 3
/** The people of one thing that are counted. */
const PEOPLE_MAX = 200
/** A field is usual when it was in this share of at least this many picked records; of more, the newer half counts twice. */
const USUAL_SHARE = 0.99
const USUAL_MIN = 100
const PICKED_MAX = 10_000
/** A usual field has stopped when at least this many records, of as many people, lack it since anybody had it; of more than half of fewer people. */
const STOPPED_MIN = 20
/** Errors that wait for the next refresh. */
const ERRORS_MAX = 1000

export type DriftWatch = ReadingExaminer & {
  /**
   * Learns what was accepted and what is counted enough, writes down what was seen of it, and reports what has come to be found in the
   * records of enough people. Each thing is returned once, to one process of the fleet. Counts that could not be written are written the next time.
   */
  refresh(nowMs: number): Promise<readonly DriftName[]>
  /** Counts the records of readings that were committed. The next refresh writes the counts. */
  countTypes(readings: readonly PreparedReading[]): void
  /** Notes an error of upstream in another form. It has no rows whose commit could count it: the next refresh does. */
  noteError(stream: PulledStream, externalId: string, names: string): void
}

type OddErrors = { readonly externalId: string; readonly misfit: DriftName; readonly count: number }

type WatchOptions = {
  readonly pool: Pool
  /** Undefined: the records of the stream are not looked at. */
  readonly knownOf: (stream: PulledStream) => KnownRecords | undefined
}

export function createDriftWatch({ pool, knownOf }: WatchOptions): DriftWatch {
  const examiners = new Map<PulledStream, RecordExaminer | undefined>()
  /** The counts of the fleet, for examiners of streams that this process has not read yet. */
  let counted: CountsOfStreams = new Map()
  let settled = new Map<string, DriftName>()
  const seen = new Map<string, DriftName>()
  let errors = new Map<string, OddErrors>()
  const types = new TypeCounts()
  const addError = ({ externalId, misfit, count }: OddErrors) => {
    const key = `${externalId} ${keyOf(misfit)}`
    const before = errors.get(key)?.count ?? 0
    if (before > 0 || errors.size < ERRORS_MAX) errors.set(key, { externalId, misfit, count: before + count })
  }
  return {
    examinerOf(stream) {
      if (!examiners.has(stream)) {
        const known = knownOf(stream)
        const examiner = known && new RecordExaminer(known)
        examiner?.optional.learn(counted.get(stream.name) ?? [])
        examiners.set(stream, examiner)
      }
      return examiners.get(stream)
    },
    isSettled({ name }, misfit) {
      if (settled.size === 0) return false
      const key = keyOf({ ...misfit, stream: name })
      const found = settled.get(key)
      if (found) seen.set(key, found)
      return found !== undefined
    },
    countTypes(readings) {
      for (const reading of readings) {
        const field = this.examinerOf(reading.stream)?.typeField
        if (field !== undefined) types.add(reading, field)
      }
    },
    noteError(stream, externalId, names) {
      const misfit = { what: 'error', path: '', detail: names } as const
      if (!this.isSettled(stream, misfit))
        addError({ externalId, misfit: { ...misfit, stream: stream.name }, count: 1 })
    },
    async refresh(nowMs) {
      const odd = [...errors.values()]
      errors = new Map()
      if (odd.length > 0)
        await writeErrors(pool, odd, nowMs).catch((error: unknown) => {
          odd.forEach(addError)
          throw error
        })
      const noted = [...seen]
      if (noted.length > 0) await writeSeen(pool, [...seen.values()])
      for (const [key] of noted) seen.delete(key)
      await types.write(pool)
      counted = await shareCounts(pool, examiners)
      await forgetOverStops(pool)
      settled = new Map((await listSettled(pool)).map((name) => [keyOf(name), name]))
      return reportFresh(pool) // last: a later failure would lose the report
    },
  }
}

const keyOf = ({ stream, what, path, detail }: DriftName) => `${stream} ${what} ${path} ${detail}`

/** The unit of an accepted misfit as a day's suspicion names it. */
const unitOf = ({ path, detail }: Pick<Misfit, 'path' | 'detail'>) => `${path} ${detail}`

/** The acceptance of a stopped field ends when the field comes again: its next stop is reported. The audit keeps the acceptance. */
async function forgetOverStops(pool: Pool): Promise<void> {
  await pool.query(
    `delete from vitalsync.drift d using vitalsync.drift_fields f
     where d.what = 'stopped' and f.stream = d.stream and f.path = d.path and f.last_seen_at > d.accepted_at`,
  )
}

/** A unit that was not accepted is never counted enough: its days would settle. */
async function listSettled(pool: Pool): Promise<DriftName[]> {
  const { rows } = await pool.query<DriftName>(
    `select stream, what, path, detail from warehouse.drift
     where accepted_at is not null or (people >= ${PEOPLE_MAX} and what <> 'unit')`,
  )
  return rows
}

type Examiners = ReadonlyMap<PulledStream, RecordExaminer | undefined>
type CountsOfStreams = ReadonlyMap<string, readonly KnownCount[]>

/** Adds what this process has counted of fields, one row for a stream and field, and learns which are usual in the fleet. */
async function shareCounts(pool: Pool, examiners: Examiners): Promise<CountsOfStreams> {
  const tallies = [...examiners].flatMap(([{ name: stream }, examiner]) => (examiner ? { stream, examiner } : []))
  const taken = tallies.map(({ stream, examiner: { optional } }) => ({ stream, optional, fields: optional.take() }))
  const counts = taken.flatMap(({ stream, fields }) => fields.map((count) => ({ ...count, stream })))
  if (counts.length > 0)
    await writeCounts(pool, counts).catch((error: unknown) => {
      for (const { optional, fields } of taken) optional.putBack(fields)
      throw error
    })
  const { rows } = await pool.query<KnownCount & { stream: string }>(
    `select stream, path as name, records >= ${USUAL_MIN} and present >= ${USUAL_SHARE} * records as "isUsual"
     from vitalsync.drift_fields`,
  )
  const counted = Map.groupBy(rows, ({ stream }) => stream)
  for (const { stream, examiner } of tallies) examiner.optional.learn(counted.get(stream) ?? [])
  return counted
}

/** In one order, so that two processes cannot wait for one another. */
async function writeCounts(pool: Pool, counts: ReadonlyArray<FieldCount & { stream: string }>): Promise<void> {
  const halvedBeyondMax = (column: string) =>
    `(f.${column} + excluded.${column}) / (1 + (f.records > ${PICKED_MAX})::int)`
  await pool.query(
    `insert into vitalsync.drift_fields as f (stream, path, records, present, last_seen_at)
     select * from unnest($1::text[], $2::text[], $3::int4[], $4::int4[], $5::timestamptz[]) order by 1, 2
     on conflict (stream, path) do update set records = ${halvedBeyondMax('records')},
       present = ${halvedBeyondMax('present')}, last_seen_at = greatest(f.last_seen_at, excluded.last_seen_at)`,
    [
      binaryColumn('text', counts, ({ stream }) => stream),
      binaryColumn('text', counts, ({ name }) => name),
      binaryColumn('int4', counts, ({ records }) => records),
      binaryColumn('int4', counts, ({ present }) => present),
      binaryColumn('timestamptz', counts, ({ seenAtMs }) => (seenAtMs === 0 ? null : seenAtMs * 1000)),
    ],
  )
}

/** The primary key lets each thing be reported once, whichever process comes first. */
async function reportFresh(pool: Pool): Promise<DriftName[]> {
  const { rows } = await pool.query<DriftName>(
    `insert into vitalsync.drift (stream, what, path, detail)
     select stream, what, path, detail from vitalsync.drift_now
     cross join (select count(*) as people from vitalsync.profiles where state = 'active') as active
     group by stream, what, path, detail, active.people
     having case what when 'unit' then true
       when 'stopped' then count(*) >= least(${STOPPED_MIN}, active.people / 2 + 1) and sum(records) >= ${STOPPED_MIN}
       else count(*) >= least(${PEOPLE_MIN}, active.people) and sum(records) >= ${RECORDS_MIN} end
     order by stream, what, path, detail
     on conflict do nothing
     returning stream, what, path, detail`,
  )
  return rows
}

async function writeSeen(pool: Pool, names: readonly DriftName[]): Promise<void> {
  await pool.query(
    `update vitalsync.drift d set last_seen_at = clock_timestamp()
     from unnest($1::text[], $2::text[], $3::text[], $4::text[]) as s(stream, what, path, detail)
     where (d.stream, d.what, d.path, d.detail) = (s.stream, s.what, s.path, s.detail)`,
    [
      names.map(({ stream }) => stream),
      names.map(({ what }) => what),
      names.map(({ path }) => path),
      names.map(({ detail }) => detail),
    ],
  )
}

type CountedMisfit = DriftName & {
  readonly profileId: string
  readonly records: number
  readonly localDate: string | undefined
  readonly seenAtMs: number
}

async function writeErrors(pool: Pool, odd: readonly OddErrors[], seenAtMs: number): Promise<void> {
  const { rows } = await pool.query<{ id: string; externalId: string }>(
    'select id::text as id, external_id as "externalId" from vitalsync.profiles where external_id = any($1)',
    [odd.map(({ externalId }) => externalId)],
  )
  const ids = new Map(rows.map(({ id, externalId }) => [externalId, id]))
  const counted = odd.flatMap(({ externalId, misfit, count }) => {
    const profileId = ids.get(externalId)
    return profileId ? [{ ...misfit, profileId, records: count, localDate: undefined, seenAtMs }] : []
  })
  // In one order, so that two processes cannot wait for one another.
  const places = counted.toSorted((place, next) =>
    keyOf(place) + place.profileId < keyOf(next) + next.profileId ? -1 : 1,
  )
  if (places.length > 0) await writeCounted(pool, places)
}

/** Counts what is unknown in these readings, in the transaction that stores their rows. The ledger's lock keeps the rows of a person apart. */
export async function writeDrift(tx: Tx, readings: readonly AdmittedReading[]): Promise<void> {
  const found = readings.flatMap(({ profileId, stream, sentAtMs, drift }) =>
    drift.misfits.map(({ misfit, records, localDate }) => ({
      ...{ ...misfit, stream: stream.name, profileId },
      ...{ records, localDate, seenAtMs: sentAtMs },
    })),
  )
  if (found.length > 0) await writeCounted(tx, found)
}

async function writeCounted(db: Pool | Tx, found: readonly CountedMisfit[]): Promise<void> {
  await db.query({
    name: 'write drift',
    text: `insert into vitalsync.drift_people as q
        (profile_id, stream, what, path, detail, records, local_date, first_seen_at, last_seen_at)
      select u.*, u.seen_at
      from unnest($1::int8[], $2::text[], $3::text[], $4::text[], $5::text[], $6::int4[], $7::date[], $8::timestamptz[])
        as u(profile_id, stream, what, path, detail, records, local_date, seen_at)
      on conflict (profile_id, stream, what, path, detail) do update set records = greatest(q.records, excluded.records),
        last_seen_at = greatest(q.last_seen_at, excluded.last_seen_at)`,
    values: [
      binaryColumn('int8', found, ({ profileId }) => profileId),
      binaryColumn('text', found, ({ stream }) => stream),
      binaryColumn('text', found, ({ what }) => what),
      binaryColumn('text', found, ({ path }) => path),
      binaryColumn('text', found, ({ detail }) => detail),
      found.map(({ records }) => records),
      found.map(({ localDate }) => localDate ?? null),
      binaryColumn('timestamptz', found, ({ seenAtMs }) => seenAtMs * 1000),
    ],
  })
}

/** The spans of each reading that are suspicious, because their records came in another unit. Remembers them in the ledger. */
export async function resolveUnits(
  tx: Tx,
  readings: readonly AdmittedReading[],
  ledger: ReadonlyMap<string, LockedLedgerRow>,
): Promise<ReadonlyMap<AdmittedReading, readonly Span[]>> {
  const doubted = readings.flatMap((reading) => {
    const before = ledger.get(profileStreamKey(reading))?.unitDoubts ?? []
    return before.length > 0 || reading.drift.days.length > 0 ? [{ reading, before }] : []
  })
  if (doubted.length === 0) return new Map()
  const { rows } = await tx.query<DriftName>({
    name: 'read accepted units',
    text: `select stream, path, detail from vitalsync.drift where what = 'unit' and accepted_at is not null`,
  })
  const accepted = new Set(rows.map((name) => `${name.stream} ${unitOf(name)}`))
  const judged = doubted.map(({ reading, before }) => {
    const { window, unchanged, newer, isPartial = false, stream, drift } = reading
    const isAccepted = (unit: string) => accepted.has(`${stream.name} ${unit}`)
    const readUnits = { window, unchanged, isOvertaken: newer.length > 0, isPartial, days: drift.days }
    return { reading, ...judgeUnits(readUnits, before, isAccepted) }
  })
  await writeUnitDoubts(
    tx,
    judged.map(({ reading, doubts }) => ({ ...reading, unitDoubts: doubts })),
  )
  return new Map(judged.map(({ reading, suspicious }) => [reading, suspicious]))
}
