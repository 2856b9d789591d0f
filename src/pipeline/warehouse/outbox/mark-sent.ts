import { type Span, union } from '../../../base/time/spans.ts'
import type { Parcel, PushedParcels } from '../../transfer/parcel.ts'
import type { PulledStream, Reach } from '../../transfer/stream.ts'
import { binaryColumn } from '../postgres/binary-format.ts'
import { namedSql, type Pool, pipelined, type Tx, transaction } from '../postgres/warehouse-pool.ts'
import { countPushedItems, type DeletedParcels } from '../runs/pushed-items.ts'

/** `uncovers`: the push changes what upstream derives. `runId`: the run whose job pushed. */
export type MarkedPush = PushedParcels & { readonly uncovers: boolean; readonly runId: string | undefined }

type MarkOptions = { readonly pool: Pool; readonly pulled: readonly PulledStream[]; readonly firstReadingMs: number }

export async function markSent(options: MarkOptions, pushes: readonly MarkedPush[]): Promise<undefined[]> {
  const touching = pushes.filter((push) => push.uncovers)
  const work = async (tx: Tx) => {
    const deleting = deleteParcels(tx, pushes)
    await pipelined<unknown>([deleting, uncoverTouched(tx, options, touching), moveCheckpoints(tx, pushes)])
    await tx.commit([countPushedItems(tx, deletedOf(touching, await deleting))])
  }
  await transaction(options.pool, work, 'by-index')
  return []
}

/** Returns how many items waited in each deleted parcel. A parcel that another process deleted is not among them. */
async function deleteParcels(tx: Tx, pushes: readonly PushedParcels[]): Promise<Map<string, number>> {
  const { rows } = await tx.query<{ id: string; waiting: number }>({
    name: 'mark sent',
    text: `delete from vitalsync.parcels where id = any($1::int8[]) and profile_id = any($2::int8[])
      returning id, waiting`,
    values: [
      binaryColumn(
        'int8',
        pushes.flatMap(({ parcels }) => parcels),
        ({ id }) => id,
      ),
      binaryColumn('int8', [...new Set(pushes.map(({ profileId }) => profileId))], (id) => id),
    ],
  })
  return new Map(rows.map(({ id, waiting }) => [id, waiting]))
}

const deletedOf = (pushes: readonly MarkedPush[], waiting: ReadonlyMap<string, number>): DeletedParcels[] =>
  pushes.map(({ profileId, runId, parcels }) => ({
    profileId,
    runId,
    items: parcels.reduce((sum, { id }) => sum + (waiting.get(id) ?? 0), 0),
  }))

type TouchedSpan = Span & { readonly profileId: string; readonly stream: string }

const ALWAYS: Span = { startMs: Number.NEGATIVE_INFINITY, endMs: Number.POSITIVE_INFINITY }

/** The spans in which upstream derives again from the items, in every stream that the catalogue says they touch. */
function touchedSpansOf(pulled: readonly PulledStream[], { profileId, stream, parcels }: PushedParcels): TouchedSpan[] {
  return pulled.flatMap(({ name, touchedBy }) => {
    const reach = touchedBy[stream]
    return reach === undefined ? [] : reachedSpans(reach, parcels).map((span) => ({ profileId, stream: name, ...span }))
  })
}

function reachedSpans(reach: Reach, parcels: readonly Parcel[]): Span[] {
  if (reach === 'everything') return [ALWAYS]
  const { beforeMs, afterMs } = reach
  return union(parcels.map(({ startAtMs, endAtMs }) => ({ startMs: startAtMs - beforeMs, endMs: endAtMs + afterMs })))
}

/**
 * Makes the touched spans due again. Upstream may derive from the push at any time, so they are unsettled until readings
 * show that it has: `partsAfterReading`. Records dated after the push have not happened yet, and settle by their own day.
 */
async function uncoverTouched(
  tx: Tx,
  { pulled, firstReadingMs }: MarkOptions,
  pushes: readonly PushedParcels[],
): Promise<void> {
  const touched = pushes.flatMap((push) => touchedSpansOf(pulled, push))
  if (touched.length === 0) return
  await tx.query({
    name: 'touch ledger',
    text: `with input as (
        select profile_id, stream, range_agg(tstzrange(from_at, to_at)) as touched
        from unnest($1::int8[], $2::text[], $3::timestamptz[], $4::timestamptz[]) as i(profile_id, stream, from_at, to_at)
        group by profile_id, stream
      ), locked as (
        select l.profile_id, l.stream, i.touched from vitalsync.ledger l join input i using (profile_id, stream)
        where ${namedSql(tx, 'l.profile_id', '$1')}
        order by l.profile_id, l.stream for update of l
      )
      update vitalsync.ledger l set generation = l.generation + 1, covered = l.covered - k.touched,
        digesting = l.digesting + k.touched * tstzmultirange(tstzrange(null, statement_timestamp())),
        touched_at = statement_timestamp(), digested_at = statement_timestamp() + $5 * interval '1 millisecond'
      from locked k where l.profile_id = k.profile_id and l.stream = k.stream and ${namedSql(tx, 'l.profile_id', '$1')}`,
    values: [
      binaryColumn('int8', touched, ({ profileId }) => profileId),
      binaryColumn('text', touched, ({ stream }) => stream),
      binaryColumn('timestamptz', touched, ({ startMs }) => microsOf(startMs)),
      binaryColumn('timestamptz', touched, ({ endMs }) => microsOf(endMs)),
      firstReadingMs,
    ],
  })
}

/** Null is an open end. */
const microsOf = (ms: number): number | null => (Number.isFinite(ms) ? ms * 1000 : null)

/** Stores the newest end that was pushed. Items that still wait before it hold the checkpoint back: see the view `coverage`. */
async function moveCheckpoints(tx: Tx, pushes: readonly PushedParcels[]): Promise<void> {
  await tx.query({
    name: 'move push checkpoints',
    text: `update vitalsync.ledger l set pushed_to = greatest(l.pushed_to, i.end_at)
      from (select profile_id, stream, max(end_at) as end_at
            from unnest($1::int8[], $2::text[], $3::timestamptz[]) as u(profile_id, stream, end_at) group by 1, 2) i
      where l.profile_id = i.profile_id and l.stream = i.stream and ${namedSql(tx, 'l.profile_id', '$1')}`,
    values: [
      binaryColumn('int8', pushes, ({ profileId }) => profileId),
      binaryColumn('text', pushes, ({ stream }) => stream),
      binaryColumn('timestamptz', pushes, ({ parcels }) => Math.max(...parcels.map(({ endAtMs }) => endAtMs)) * 1000),
    ],
  })
}
