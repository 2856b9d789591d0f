import { normalize } from '../coverage.ts'
import type { Parcel } from '../parcel.ts'
import { binaryColumn } from './binary-arrays.ts'
import type { OutboxOptions, Push } from './outbox.ts'
import { beginByKey, sentTogether, type Tx, transaction } from './pool.ts'

type Sent = Push & { readonly touches: boolean }

export async function markSent(options: OutboxOptions, pushes: readonly Sent[]): Promise<undefined[]> {
  const parcels = pushes.flatMap((push) => push.parcels)
  await transaction(
    options.pool,
    async (tx) => {
      const touching = pushes.filter((push) => push.touches)
      await sentTogether([deleteParcels(tx, parcels), touchLedger(tx, options, touching), moveCheckpoints(tx, pushes)])
    },
    beginByKey,
  )
  return []
}

async function deleteParcels(tx: Tx, parcels: readonly Parcel[]): Promise<void> {
  await tx.query({
    name: 'mark sent',
    text: 'delete from vitalsync.parcels where id = any($1::int8[])',
    values: [binaryColumn('int8', parcels, ({ id }) => id)],
  })
}

type Touched = { readonly profileId: string; readonly stream: string; readonly from: number; readonly to: number }

/** Makes due again what upstream derives anew from the items, in every stream that the catalogue says they touch. */
async function touchLedger(tx: Tx, { streams, digestMs }: OutboxOptions, pushes: readonly Push[]): Promise<void> {
  const touched = pushes.flatMap(({ profileId, stream: pushed, parcels }) =>
    streams.flatMap((stream): Touched[] => {
      const reach = stream.touchedBy[pushed]
      if (!reach) return []
      if (stream.kind === 'snapshot' || pushed === 'demographics')
        return [{ profileId, stream: stream.name, from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY }]
      const spans = parcels.map(({ startAtMs, endAtMs }) => ({
        from: startAtMs - reach.beforeMs,
        to: endAtMs + reach.afterMs,
      }))
      return normalize(spans).map((span) => ({ profileId, stream: stream.name, ...span }))
    }),
  )
  if (touched.length === 0) return
  await tx.query({
    name: 'touch ledger',
    text: `with input as (
        select profile_id, stream, range_agg(tstzrange(from_at, to_at)) as touched
        from unnest($1::int8[], $2::text[], $3::timestamptz[], $4::timestamptz[]) as i(profile_id, stream, from_at, to_at)
        group by profile_id, stream
      ), locked as (
        select l.profile_id, l.stream, i.touched from vitalsync.ledger l join input i using (profile_id, stream)
        order by l.profile_id, l.stream for update of l
      )
      update vitalsync.ledger l set generation = l.generation + 1, covered = l.covered - k.touched,
        digesting = l.digesting + k.touched, digested_at = clock_timestamp() + $5 * interval '1 millisecond'
      from locked k where l.profile_id = k.profile_id and l.stream = k.stream`,
    values: [
      binaryColumn('int8', touched, (one) => one.profileId),
      binaryColumn('text', touched, (one) => one.stream),
      binaryColumn('timestamptz', touched, ({ from }) => microsOf(from)),
      binaryColumn('timestamptz', touched, ({ to }) => microsOf(to)),
      digestMs,
    ],
  })
}

/** Null is an end that is open. */
const microsOf = (ms: number): number | null => (Number.isFinite(ms) ? ms * 1000 : null)

/** The newest end that was pushed. What still waits before it holds the checkpoint back: see the view `coverage`. */
async function moveCheckpoints(tx: Tx, pushes: readonly Push[]): Promise<void> {
  await tx.query({
    name: 'move push checkpoints',
    text: `update vitalsync.ledger l set pushed_to = greatest(l.pushed_to, i.end_at)
      from (select profile_id, stream, max(end_at) as end_at
            from unnest($1::int8[], $2::text[], $3::timestamptz[]) as u(profile_id, stream, end_at) group by 1, 2) i
      where l.profile_id = i.profile_id and l.stream = i.stream`,
    values: [
      binaryColumn('int8', pushes, (push) => push.profileId),
      binaryColumn('text', pushes, (push) => push.stream),
      binaryColumn('timestamptz', pushes, ({ parcels }) => Math.max(...parcels.map((one) => one.endAtMs)) * 1000),
    ],
  })
}
