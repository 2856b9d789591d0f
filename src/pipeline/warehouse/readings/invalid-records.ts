import { digestOf } from '../../../base/text/digest.ts'
import { jsonOrUndefined } from '../../../base/text/json.ts'
import type { InvalidRecord, Reading } from '../../transfer/reading.ts'
import { recordStartsSql } from '../postgres/sql-time.ts'
import { namedSql, type Tx } from '../postgres/warehouse-pool.ts'
import { type AdmittedReading, furtherDaysOf, localDateTextOf } from './record-rows.ts'

type Source = Pick<Reading, 'profileId' | 'stream' | 'window' | 'invalid'>
type FoundInvalid = {
  readonly record: InvalidRecord
  readonly reading: Source
  readonly digest: Buffer
  /** Undefined: the record is not JSON. */
  readonly fields: unknown
}

/** Quarantines each invalid record whole, and once: a record that is seen again only counts up. */
export async function quarantineInvalid(tx: Tx, readings: readonly Source[], nowMs: number): Promise<void> {
  const found = readings.flatMap((reading) =>
    reading.invalid.map((record) => ({
      record,
      reading,
      digest: digestOf(record.raw),
      fields: jsonOrUndefined(record.raw),
    })),
  )
  const records = [...new Map(found.map((record) => [identityOf(record), record])).values()]
  if (records.length === 0) return
  const now = new Date(nowMs).toISOString()
  await tx.query({
    name: 'keep odd',
    text: `insert into vitalsync.quarantine as q
        (profile_id, stream, direction, digest, path, reason, body, span, local_date, further_days, first_seen_at, last_seen_at)
      select i.profile_id, i.stream, 'pull', i.digest, i.path, i.reason, i.body, tstzrange(i.from_at, i.to_at), i.local_date,
        i.further_days, $11, $11
      from unnest($1::int8[], $2::text[], $3::bytea[], $4::text[], $5::text[], $6::text[], $7::timestamptz[], $8::timestamptz[],
        $9::date[], $10::int4[]) as i(profile_id, stream, digest, path, reason, body, from_at, to_at, local_date, further_days)
      on conflict (profile_id, stream, direction, digest)
        do update set times = q.times + 1, last_seen_at = excluded.last_seen_at, reason = excluded.reason,
          span = excluded.span, local_date = excluded.local_date, further_days = excluded.further_days`,
    values: [
      records.map(({ reading }) => reading.profileId),
      records.map(({ reading }) => reading.stream.name),
      records.map(({ digest }) => digest),
      records.map(({ record }) => record.path),
      records.map(({ record }) => record.reason),
      records.map(({ record }) => record.raw.replaceAll('\u0000', '')),
      records.map(({ reading }) => new Date(reading.window.startMs).toISOString()),
      records.map(({ reading }) => new Date(reading.window.endMs).toISOString()),
      records.map(({ reading, fields }) => localDateTextOf(reading.stream, fields) ?? null),
      records.map(({ reading, fields }) => furtherDaysOf(reading.stream, fields)),
      now,
    ],
  })
}

type ReadAgain = Source & Pick<AdmittedReading, 'believed' | 'unchanged' | 'word' | 'newer' | 'sentAtMs'>

/** Whether upstream would have sent everything that lies in the reading's window, and nothing newer is known of it. */
const speaksForWindow = ({ believed, unchanged, word, newer }: ReadAgain): boolean =>
  believed && !unchanged && word !== 'pending' && newer.length === 0

/**
 * Takes records out of the quarantine that a later reading of their day, or of the window in which they were read, does not hold
 * in that form any more: upstream has mended them, or has them no more.
 */
export async function releaseMended(tx: Tx, readings: readonly ReadAgain[]): Promise<void> {
  const read = readings.filter(speaksForWindow)
  if (read.length === 0) return
  const held = read.flatMap((reading) => reading.invalid.map(({ raw }) => ({ reading, raw })))
  const starts = recordStartsSql('q.local_date')
  const bound = (ms: number, { stream }: ReadAgain) => (stream.kind === 'snapshot' ? null : new Date(ms).toISOString())
  await tx.query({
    name: 'release mended',
    text: `delete from vitalsync.quarantine q
      using unnest($1::int8[], $2::text[], $3::timestamptz[], $4::timestamptz[], $5::timestamptz[])
        as i(profile_id, stream, from_at, to_at, sent_at)
      where q.profile_id = i.profile_id and ${namedSql(tx, 'q.profile_id', '$1')} and q.stream = i.stream
        and q.direction = 'pull' and q.last_seen_at < i.sent_at
        and not exists (select from unnest($6::int8[], $7::text[], $8::bytea[]) as k(profile_id, stream, digest)
          where k.profile_id = q.profile_id and k.stream = q.stream and k.digest = q.digest)
        and (q.span <@ tstzrange(i.from_at, i.to_at)
          or tstzrange(${starts.first}, ${starts.end}) <@ tstzrange(i.from_at, i.to_at))`,
    values: [
      read.map(({ profileId }) => profileId),
      read.map(({ stream }) => stream.name),
      read.map((reading) => bound(reading.window.startMs, reading)),
      read.map((reading) => bound(reading.window.endMs, reading)),
      read.map(({ sentAtMs }) => new Date(sentAtMs).toISOString()),
      held.map(({ reading }) => reading.profileId),
      held.map(({ reading }) => reading.stream.name),
      held.map(({ raw }) => digestOf(raw)),
    ],
  })
}

/** Eight bytes that distinguish the text of one record from another. */
const identityOf = ({ reading, digest }: FoundInvalid) =>
  `${reading.stream.name} ${reading.profileId} ${digest.toString('hex')}`
