import { binaryColumn } from '../postgres/binary-format.ts'
import { nextIdSql } from '../postgres/shard.ts'
import type { Tx } from '../postgres/warehouse-pool.ts'
import type { SilentDifference } from './settle-readings.ts'

/** Records silent differences in the commit that makes their days due again. */
export async function recordSilentDifferences(
  tx: Tx,
  account: string,
  found: readonly SilentDifference[],
): Promise<void> {
  if (found.length === 0) return
  await tx.query({
    name: 'record silent differences',
    text: `insert into vitalsync.silent_differences (id, account, stream, profile_id, found_at, records, late_ms)
      overriding system value select ${nextIdSql('silent_differences')}, $1, u.* from unnest($2::text[], $3::int8[], $4::timestamptz[], $5::int4[], $6::float8[]) u`,
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
