import { digestOf } from '../../../base/text/digest.ts'
import { jsonOrUndefined } from '../../../base/text/json.ts'
import type { InvalidRecord, Reading } from '../../transfer/reading.ts'
import type { Tx } from '../postgres/warehouse-pool.ts'
import { localDateTextOf } from './record-rows.ts'

type Source = Pick<Reading, 'profileId' | 'stream' | 'window' | 'invalid'>
type FoundInvalid = { readonly record: InvalidRecord; readonly reading: Source; readonly digest: Buffer }

/** Quarantines each invalid record whole, and once: a record that is seen again only counts up. */
export async function quarantineInvalid(tx: Tx, readings: readonly Source[], nowMs: number): Promise<void> {
  const found = readings.flatMap((reading) =>
    reading.invalid.map((record) => ({ record, reading, digest: digestOf(record.raw) })),
  )
  const records = [...new Map(found.map((record) => [identityOf(record), record])).values()]
  if (records.length === 0) return
  const now = new Date(nowMs).toISOString()
  await tx.query({
    name: 'keep odd',
    text: `insert into vitalsync.quarantine as q
        (profile_id, stream, direction, digest, path, reason, body, span, local_date, first_seen_at, last_seen_at)
      select i.profile_id, i.stream, 'pull', i.digest, i.path, i.reason, i.body, tstzrange(i.from_at, i.to_at), i.local_date, $10, $10
      from unnest($1::int8[], $2::text[], $3::bytea[], $4::text[], $5::text[], $6::text[], $7::timestamptz[], $8::timestamptz[],
        $9::date[]) as i(profile_id, stream, digest, path, reason, body, from_at, to_at, local_date)
      on conflict (profile_id, stream, direction, digest)
        do update set times = q.times + 1, last_seen_at = excluded.last_seen_at, reason = excluded.reason,
          span = excluded.span, local_date = excluded.local_date`,
    values: [
      records.map(({ reading }) => reading.profileId),
      records.map(({ reading }) => reading.stream.name),
      records.map(({ digest }) => digest),
      records.map(({ record }) => record.path),
      records.map(({ record }) => record.reason),
      records.map(({ record }) => record.raw.replaceAll('\u0000', '')),
      records.map(({ reading }) => new Date(reading.window.startMs).toISOString()),
      records.map(({ reading }) => new Date(reading.window.endMs).toISOString()),
      records.map(({ record, reading }) => localDateTextOf(reading.stream, jsonOrUndefined(record.raw)) ?? null),
      now,
    ],
  })
}

/** Eight bytes that distinguish the text of one record from another. */
const identityOf = ({ reading, digest }: FoundInvalid) =>
  `${reading.stream.name} ${reading.profileId} ${digest.toString('hex')}`
