import type { Span } from '../coverage.ts'
import type { Known } from '../gaps.ts'
import type { PulledStream } from '../stream.ts'
import type { Pool } from './pool.ts'

export type KnownStream = Known & { readonly profileId: string; readonly externalId: string; readonly stream: string }

type Row = {
  id: string
  external_id: string
  stream: string
  wanted_from: number
  now: number
  covered: Array<[number, number]> | null
  digesting: Array<[number, number]> | null
  digested_at: number | null
  read_at: number | null
  refused: Array<[number, number, string, number | null]> | null
}

export type GapPage = { readonly afterId: string; readonly limit: number; readonly ids?: readonly string[] | undefined }

const ms = (instant: string) => `(extract(epoch from ${instant}) * 1000)::float8`
const pairs = (ranges: string) =>
  `(select json_agg(json_build_array(${ms('lower(r)')}, ${ms('upper(r)')})) from unnest(${ranges}) r)`

/** What the ledger knows of the streams of the next profiles after `afterId`, in order. */
export async function readKnown(
  { pool, streams }: { pool: Pool; streams: readonly PulledStream[] },
  { afterId, limit, ids }: GapPage,
): Promise<KnownStream[]> {
  const { rows } = await pool.query<Row>(
    `with page as (
       select * from vitalsync.profiles where id > $1 and state <> 'gone' and ($3::int8[] is null or id = any($3))
       order by id limit $2
     )
     select p.id, p.external_id, l.stream, ${ms('p.wanted_from')} as wanted_from, ${ms('clock_timestamp()')} as now,
       ${pairs('l.covered')} as covered,
       ${pairs('l.digesting')} as digesting, ${ms("nullif(l.digested_at, '-infinity')")} as digested_at,
       ${ms('l.read_at')} as read_at,
       (select json_agg(json_build_array(${ms('lower(f.span)')}, ${ms('upper(f.span)')}, f.reason,
           ${ms("nullif(f.next_try_at, 'infinity')")}))
         from vitalsync.refusals f where f.profile_id = p.id and f.stream = l.stream) as refused
     from page p join vitalsync.ledger l on l.profile_id = p.id where l.stream = any($4) order by p.id, l.stream`,
    [afterId, limit, ids ?? null, streams.map(({ name }) => name)],
  )
  const settle = new Map<string, number>(streams.map(({ name, settleMs }) => [name, settleMs]))
  return rows.map((row) => ({
    profileId: row.id,
    externalId: row.external_id,
    stream: row.stream,
    wanted: { from: row.wanted_from, to: row.now },
    covered: toSpans(row.covered),
    digesting: (row.digested_at ?? 0) > row.now ? toSpans(row.digesting) : [],
    digestedAtMs: row.digested_at,
    refused: (row.refused ?? []).map(([from, to, reason, nextTryMs]) => ({ from, to, reason, nextTryMs })),
    readAtMs: row.read_at,
    settleMs: settle.get(row.stream) ?? 0,
  }))
}

const toSpans = (spans: Array<[number, number]> | null): Span[] => (spans ?? []).map(([from, to]) => ({ from, to }))
