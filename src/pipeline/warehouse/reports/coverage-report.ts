import { type SpanPairs, spansFromPairs, union } from '../../../base/time/spans.ts'
import type { KnownCoverage } from '../../ledger/coverage-gaps.ts'
import type { PulledStream } from '../../transfer/stream.ts'
import { epochMsSql, spanPairsSql } from '../postgres/sql-time.ts'
import type { Pool } from '../postgres/warehouse-pool.ts'

type KnownStreamCoverage = KnownCoverage & {
  readonly profileId: string
  readonly externalId: string
  readonly stream: string
}

type KnownCoverageRow = {
  id: string
  external_id: string
  stream: string
  wanted_from: number
  now: number
  covered: SpanPairs
  digesting: SpanPairs
  reread: SpanPairs
  digested_at: number | null
  read_at: number | null
  settle_ms: number
  touched_at: number | null
  refused: Array<[number, number, string, number | null]> | null
}

type CoveragePage = {
  readonly afterId: string
  readonly limit: number
  readonly ids?: readonly string[] | undefined
}

/** Reads the ledger rows of the next profiles after `afterId`, in the order of the ids. */
export async function readKnownCoverage(
  { pool, streams }: { pool: Pool; streams: readonly PulledStream[] },
  { afterId, limit, ids }: CoveragePage,
): Promise<KnownStreamCoverage[]> {
  const page = await pool.query<{ id: string }>(
    `select id from vitalsync.profiles where id > $1 and state <> 'gone' and ($3::int8[] is null or id = any($3))
     order by id limit $2`,
    [afterId, limit, ids ?? null],
  )
  const { rows } = await pool.query<KnownCoverageRow>(
    `select p.id, p.external_id, l.stream, ${epochMsSql('p.wanted_from')} as wanted_from, ${epochMsSql('clock_timestamp()')} as now,
       ${spanPairsSql('l.covered')} as covered,
       ${spanPairsSql('l.digesting')} as digesting,
       (select json_agg(json_build_array(r -> 0, r -> 1)) from jsonb_array_elements(l.rereads) r) as reread,
       ${epochMsSql("nullif(l.digested_at, '-infinity')")} as digested_at,
       ${epochMsSql('l.read_at')} as read_at,
       greatest(case when l.digesting <> '{}' then ${epochMsSql('l.touched_at')} end,
         (select max((r ->> 2)::float8) from jsonb_array_elements(l.rereads) r where r -> 5 is null)) as touched_at,
       coalesce((select max(t.settle_ms) from vitalsync.settle_times t where t.stream = l.stream),
         (select s.settle_ms from vitalsync.day_streams s where s.stream = l.stream), 0) as settle_ms,
       (select json_agg(json_build_array(${epochMsSql('lower(f.span)')}, ${epochMsSql('upper(f.span)')}, f.reason,
           ${epochMsSql("nullif(f.next_try_at, 'infinity')")}))
         from vitalsync.refusals f where f.profile_id = p.id and f.stream = l.stream) as refused
     from vitalsync.profiles p join vitalsync.ledger l on l.profile_id = p.id
     where p.id = any($1::int8[]) and l.profile_id = any($1::int8[]) and l.stream = any($2) order by p.id, l.stream`,
    [page.rows.map(({ id }) => id), streams.map(({ name }) => name)],
  )
  return rows.map((row) => ({
    profileId: row.id,
    externalId: row.external_id,
    stream: row.stream,
    wanted: { startMs: row.wanted_from, endMs: row.now },
    covered: spansFromPairs(row.covered),
    awaiting: union([...spansFromPairs(row.digesting), ...spansFromPairs(row.reread)]),
    readAgainAtMs: row.digested_at,
    settlesAtMs: row.touched_at === null ? null : row.touched_at + row.settle_ms,
    refused: (row.refused ?? []).map(([startMs, endMs, reason, nextTryAtMs]) => ({
      startMs,
      endMs,
      reason,
      nextTryAtMs,
    })),
    readAtMs: row.read_at,
    settleMs: row.settle_ms,
  }))
}
