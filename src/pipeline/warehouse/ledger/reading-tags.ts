import type { Span } from '../../../base/time/spans.ts'
import type { WindowEdges } from '../../ledger/judge.ts'
import type { Reading } from '../../transfer/reading.ts'
import type { PulledStream } from '../../transfer/stream.ts'
import { requestHashOf, taggedSpanOf } from '../../transfer/tagged-window.ts'
import { binaryColumn, type ColumnType, type ColumnValue } from '../postgres/binary-format.ts'
import { namedSql, type Tx } from '../postgres/warehouse-pool.ts'
import { profileStreamKey } from './ledger-rows.ts'

type AskedWindow = Pick<Reading, 'profileId' | 'stream' | 'window'>

/** The evidence of the reading with the tag about the edges of its window: the same holds for an unchanged reading. */
export type HeldTags = ReadonlyMap<string, WindowEdges>

/**
 * Finds which of these unchanged readings are about a tag that the ledger still holds, by the keys of their ledger rows. The
 * rows are locked by the statement before: a tag that is gone was dropped because the stored records are no longer as they came
 * with it. One statement cannot do both: it would find the tags as they were before it waited for the lock.
 */
export async function findHeldTags(
  tx: Tx,
  readings: ReadonlyArray<AskedWindow & Pick<Reading, 'tag'>>,
): Promise<HeldTags> {
  if (readings.length === 0) return new Map()
  const column = columnOf(readings)
  const { rows } = await tx.query<{ n: number; edges: readonly [readonly number[], boolean] }>({
    name: 'find held tags',
    text: `select i.n::int4 as n, t.edges
      from unnest($1::int8[], $2::text[], $3::timestamptz[], $4::timestamptz[], $5::text[], $6::int4[])
        with ordinality as i(profile_id, stream, from_at, to_at, tag, request_hash, n)
      join vitalsync.ledger l on l.profile_id = i.profile_id and l.stream = i.stream and l.tagged
      join vitalsync.reading_tags t on t.profile_id = i.profile_id and t.stream = i.stream
        and t.from_at = i.from_at and t.to_at = i.to_at and t.tag = i.tag and t.request_hash = i.request_hash
      where ${namedSql(tx, 'l.profile_id', '$1')} and ${namedSql(tx, 't.profile_id', '$1')}`,
    values: [...windowColumns(column), column('text', ({ tag }) => tag ?? null), requestHashes(column)],
  })
  return new Map(
    rows.flatMap(({ n, edges: [crossingHashes, reachesBack] }) => {
      const reading = readings[n - 1]
      return reading ? [[profileStreamKey(reading), { crossingHashes, reachesBack }]] : []
    }),
  )
}

/** The changes by a reading to the tags of its ledger row. */
export type TagChange = AskedWindow &
  WindowEdges &
  Pick<Reading, 'sentAtMs'> & {
    /** The tag of the stored records of the window; undefined when no tag is held. */
    readonly tag: string | undefined
    /** The span of the records that the reading wrote: tags of windows that touch it say nothing any more. */
    readonly touched: Span | undefined
    /** No tag of the ledger row counted before. */
    readonly isFirst: boolean
  }

/** Beyond this many windows of a ledger row, the tags that came longest ago are dropped. */
const TAGS_PER_ROW_MAX = 100

/**
 * Sends, when it is called, statements that keep the tags of these readings, and drop the tags of windows whose stored records these
 * readings changed. Windows include both their ends upstream, so a window that only touches a record counts.
 */
export function prepareTagChanges(tx: Tx, changes: readonly TagChange[]): () => Promise<unknown>[] {
  const [kept, first] = [changes.filter(hasTag), changes.filter((change) => change.isFirst && hasTag(change))]
  const statements = [
    ...(changes.length > 0 ? [dropTags(tx, changes)] : []),
    ...(kept.length > 0 ? [keepTags(kept)] : []),
    ...(first.length > 0 ? [markTagged(tx, first)] : []),
  ]
  return () => statements.map((statement) => tx.query(statement))
}

const hasTag = ({ tag }: TagChange): boolean => tag !== undefined

function dropTags(tx: Tx, changes: readonly TagChange[]) {
  const column = columnOf(changes)
  return {
    name: 'drop reading tags',
    text: `with input as materialized (
        select * from unnest($1::int8[], $2::text[], $3::timestamptz[], $4::timestamptz[], $5::bool[], $6::bool[],
          $7::timestamptz[], $8::timestamptz[])
          as i(profile_id, stream, from_at, to_at, has_tag, is_first, touched_from, touched_to)
      )
      delete from vitalsync.reading_tags t using input i
      where t.profile_id = i.profile_id and t.stream = i.stream and ${namedSql(tx, 't.profile_id', '$1')} and case
        when t.from_at = i.from_at and t.to_at = i.to_at then not i.has_tag
        else i.is_first or (t.from_at <= i.touched_to and t.to_at >= i.touched_from)
          or t.read_at < (select s.read_at from vitalsync.reading_tags s
            where s.profile_id = i.profile_id and s.stream = i.stream and ${namedSql(tx, 's.profile_id', '$1')}
            order by s.read_at desc
            offset ${TAGS_PER_ROW_MAX - 2} limit 1) end`,
    values: [
      ...windowColumns(column),
      column('bool', hasTag),
      column('bool', ({ isFirst }) => isFirst),
      column('timestamptz', ({ touched }) => microsOf(touched?.startMs)),
      column('timestamptz', ({ touched }) => microsOf(touched?.endMs)),
    ],
  }
}

function keepTags(changes: readonly TagChange[]) {
  const column = columnOf(changes)
  return {
    name: 'store reading tags',
    text: `insert into vitalsync.reading_tags (profile_id, stream, from_at, to_at, tag, request_hash, edges, read_at)
      select profile_id, stream, from_at, to_at, tag, request_hash, edges::jsonb, read_at
      from unnest($1::int8[], $2::text[], $3::timestamptz[], $4::timestamptz[], $5::text[], $6::int4[], $7::text[],
        $8::timestamptz[]) as i(profile_id, stream, from_at, to_at, tag, request_hash, edges, read_at)
      on conflict (profile_id, stream, from_at, to_at) do update set tag = excluded.tag,
        request_hash = excluded.request_hash, edges = excluded.edges, read_at = excluded.read_at`,
    values: [
      ...windowColumns(column),
      column('text', ({ tag }) => tag ?? null),
      requestHashes(column),
      column('text', ({ crossingHashes, reachesBack }) => JSON.stringify([crossingHashes, reachesBack])),
      column('timestamptz', ({ sentAtMs }) => sentAtMs * 1000),
    ],
  }
}

function markTagged(tx: Tx, changes: readonly TagChange[]) {
  const column = columnOf(changes)
  return {
    name: 'mark tagged rows',
    text: `update vitalsync.ledger l set tagged = true
      from unnest($1::int8[], $2::text[]) as i(profile_id, stream)
      where l.profile_id = i.profile_id and l.stream = i.stream and ${namedSql(tx, 'l.profile_id', '$1')}`,
    values: [column('int8', ({ profileId }) => profileId), column('text', ({ stream }) => stream.name)],
  }
}

/** The tag of a window as a plan loads it: stream, start, end, tag, hash of the request. */
export type PlannedTag = readonly [string, number, number, string, number]

/** The tag to ask for a window with. */
export const heldTagOf = (tags: readonly PlannedTag[], stream: PulledStream, window: Span): string | undefined => {
  const { startMs, endMs } = taggedSpanOf(stream, window)
  const held = tags.find(([name, fromMs, toMs]) => name === stream.name && fromMs === startMs && toMs === endMs)
  return held?.[4] === (held && requestHashOf(stream, window)) ? held?.[3] : undefined
}

type ToColumn<T> = (type: ColumnType, cell: (item: T) => ColumnValue) => Buffer

const columnOf =
  <T>(items: readonly T[]): ToColumn<T> =>
  (type, cell) =>
    binaryColumn(type, items, cell)

const windowColumns = (column: ToColumn<AskedWindow>): Buffer[] => [
  column('int8', ({ profileId }) => profileId),
  column('text', ({ stream }) => stream.name),
  column('timestamptz', ({ stream, window }) => taggedSpanOf(stream, window).startMs * 1000),
  column('timestamptz', ({ stream, window }) => taggedSpanOf(stream, window).endMs * 1000),
]

const requestHashes = (column: ToColumn<AskedWindow>): Buffer =>
  column('int4', ({ stream, window }) => requestHashOf(stream, window))

const microsOf = (ms: number | undefined): number | null => (ms === undefined ? null : Math.round(ms * 1000))
