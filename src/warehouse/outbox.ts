import type { PulledStream } from '../stream.ts'
import { createBatch } from './batch.ts'
import { binaryArray } from './binary-arrays.ts'
import { type Pool, type Tx, transaction } from './pool.ts'
import { digestOf } from './rows.ts'

/** In the order in which they are pushed: what upstream derives from logs depends on who the person is. */
export const pushedStreams = ['device-information', 'demographics', 'tags', 'data-logs'] as const
export type PushedStream = (typeof pushedStreams)[number]

/** Something to be pushed. `itemKey` is its stable name: the log's id, a tag's identity, or one word for a snapshot. */
export type OutboxItem = {
  readonly profileId: string
  readonly stream: PushedStream
  readonly itemKey: string
  readonly body: string
  readonly mode?: 'patch' | 'put'
  readonly startAtMs: number
  readonly endAtMs: number
}

export type WaitingItem = {
  readonly id: string
  readonly revision: number
  readonly body: string
  readonly mode: 'patch' | 'put'
  readonly startAtMs: number
  readonly endAtMs: number
}

export type Accepted = { readonly accepted: number; readonly duplicate: number }

export type Outbox = {
  /** Puts items in. What is already waiting or was sent in just this form counts as duplicate and changes nothing. */
  add(items: readonly OutboxItem[]): Promise<Accepted>
  /** What waits, oldest endDateTime first. */
  waiting(profileId: string, stream: PushedStream, limit: number): Promise<WaitingItem[]>
  /**
   * Upstream said yes. In one transaction: the items are marked sent, unless they were replaced meanwhile; what they
   * touch becomes due again under a new generation; the push checkpoint moves on.
   */
  sent(profileId: string, stream: PushedStream, items: readonly WaitingItem[]): Promise<void>
  /** Upstream holds this already, by what it last gave: marked sent without a call, and without touching anything. */
  known(profileId: string, stream: PushedStream, items: readonly WaitingItem[]): Promise<void>
  /** The demographics that upstream last gave, if it ever did. */
  lastDemographics(profileId: string): Promise<Readonly<Record<string, unknown>> | undefined>
  /** Upstream said no to these. They leave the outbox for the quarantine, with its reason. */
  refused(
    profileId: string,
    stream: PushedStream,
    items: ReadonlyArray<WaitingItem & { reason: string; path: string }>,
  ): Promise<void>
}

export type OutboxOptions = { pool: Pool; streams: readonly PulledStream[]; digestMs: number }

export function openOutbox(options: OutboxOptions): Outbox {
  const { pool } = options
  const markSent = createBatch({
    itemsMax: 100,
    atOnce: 2,
    run: (pushes: readonly Push[]) => markAllSent(options, pushes),
  })
  return {
    add: (items) => addItems(pool, items),
    waiting: (profileId, stream, limit) => readWaiting(pool, { profileId, stream, limit }),
    sent: (profileId, stream, items) => markSent({ profileId, stream, items, touches: true }),
    known: (profileId, stream, items) => markSent({ profileId, stream, items, touches: false }),
    async lastDemographics(profileId) {
      const { rows } = await pool.query(
        'select body from vitalsync.demographics where profile_id = $1 and gone_at is null',
        [profileId],
      )
      return rows[0] && JSON.parse(rows[0].body)
    },
    refused: (profileId, stream, items) => transaction(pool, (tx) => quarantine(tx, profileId, stream, items)),
  }
}

type Push = {
  readonly profileId: string
  readonly stream: PushedStream
  readonly items: readonly WaitingItem[]
  readonly touches: boolean
}

async function addItems(pool: Pool, items: readonly OutboxItem[]): Promise<Accepted> {
  // The last word on an item within one call is the one that counts.
  const byKey = new Map(items.map((item) => [`${item.profileId} ${item.stream} ${item.itemKey}`, item]))
  const once = [...byKey.values()]
  if (once.length === 0) return { accepted: 0, duplicate: 0 }
  const { rowCount } = await pool.query(
    `insert into vitalsync.outbox (profile_id, stream, item_key, body, digest, mode, start_at, end_at)
     select i.* from unnest($1::int8[], $2::text[], $3::text[], $4::text[], $5::bytea[], $6::text[], $7::timestamptz[], $8::timestamptz[])
       as i(profile_id, stream, item_key, body, digest, mode, start_at, end_at)
     join vitalsync.profiles p on p.id = i.profile_id
     order by i.profile_id, i.stream, i.item_key
     on conflict (profile_id, stream, item_key) do update set body = excluded.body, digest = excluded.digest,
       mode = excluded.mode, start_at = excluded.start_at, end_at = excluded.end_at,
       revision = outbox.revision + 1, state = 'waiting', added_at = clock_timestamp(), sent_at = null
       where outbox.digest <> excluded.digest or outbox.mode <> excluded.mode`,
    [
      binaryArray(
        'int8',
        once.map((item) => item.profileId),
      ),
      binaryArray(
        'text',
        once.map((item) => item.stream),
      ),
      binaryArray(
        'text',
        once.map((item) => item.itemKey),
      ),
      binaryArray(
        'text',
        once.map((item) => item.body),
      ),
      once.map((item) => digestOf(item.body)),
      binaryArray(
        'text',
        once.map((item) => item.mode ?? 'patch'),
      ),
      binaryArray(
        'timestamptz',
        once.map((item) => item.startAtMs * 1000),
      ),
      binaryArray(
        'timestamptz',
        once.map((item) => item.endAtMs * 1000),
      ),
    ],
  )
  const accepted = rowCount ?? 0
  await wake(pool, once)
  return { accepted, duplicate: items.length - accepted }
}

/** What was put in is due at once: the next sweep takes it along. */
async function wake(pool: Pool, items: readonly OutboxItem[]): Promise<void> {
  const ids = [...new Set(items.map((item) => item.profileId))]
  await pool.query(
    `update vitalsync.profiles set due_at = clock_timestamp() where id = any($1) and due_at > clock_timestamp()`,
    [ids],
  )
}

type Wanted = { profileId: string; stream: string; limit: number }

async function readWaiting(pool: Pool, { profileId, stream, limit }: Wanted): Promise<WaitingItem[]> {
  const { rows } = await pool.query({
    name: 'read waiting',
    text: `select id, revision, body, mode, (extract(epoch from start_at) * 1000)::float8 as start_ms,
        (extract(epoch from end_at) * 1000)::float8 as end_ms
      from vitalsync.outbox where profile_id = $1 and stream = $2 and state = 'waiting'
      order by end_at, id limit $3`,
    values: [profileId, stream, limit],
  })
  return rows.map((row) => ({
    id: row.id,
    revision: row.revision,
    body: row.body,
    mode: row.mode,
    startAtMs: row.start_ms,
    endAtMs: row.end_ms,
  }))
}

async function markAllSent(options: OutboxOptions, pushes: readonly Push[]): Promise<undefined[]> {
  const items = pushes.flatMap((push) => push.items)
  await transaction(options.pool, async (tx) => {
    await tx.query({
      name: 'mark sent',
      text: `update vitalsync.outbox o set state = 'sent', sent_at = clock_timestamp(), body = null
        from unnest($1::int8[], $2::int8[]) as i(id, revision) where o.id = i.id and o.revision = i.revision`,
      values: [
        binaryArray(
          'int8',
          items.map((item) => item.id),
        ),
        binaryArray(
          'int8',
          items.map((item) => item.revision),
        ),
      ],
    })
    const touching = pushes.filter((push) => push.touches)
    await touchLedger(tx, options, touching)
    await moveCheckpoints(tx, pushes)
  })
  return []
}

/** Makes due again what upstream derives anew from the items, in every stream that the catalogue says they touch. */
async function touchLedger(tx: Tx, { streams, digestMs }: OutboxOptions, pushes: readonly Push[]): Promise<void> {
  const touched = pushes.flatMap(({ profileId, stream: pushed, items }) =>
    streams.flatMap((stream) => {
      const reach = stream.touchedBy[pushed]
      if (!reach) return []
      const everything = stream.kind === 'snapshot' || pushed === 'demographics'
      const from = Math.min(...items.map((item) => item.startAtMs)) - reach.beforeMs
      const to = Math.max(...items.map((item) => item.endAtMs)) + reach.afterMs
      return [
        { profileId, stream: stream.name, from: everything ? null : from * 1000, to: everything ? null : to * 1000 },
      ]
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
      binaryArray(
        'int8',
        touched.map((one) => one.profileId),
      ),
      binaryArray(
        'text',
        touched.map((one) => one.stream),
      ),
      binaryArray(
        'timestamptz',
        touched.map((one) => one.from),
      ),
      binaryArray(
        'timestamptz',
        touched.map((one) => one.to),
      ),
      digestMs,
    ],
  })
}

/** The newest end that was pushed. What still waits before it holds the checkpoint back: see the view `coverage`. */
async function moveCheckpoints(tx: Tx, pushes: readonly Push[]): Promise<void> {
  await tx.query({
    name: 'move push checkpoints',
    text: `update vitalsync.ledger l set pushed_to = greatest(l.pushed_to, i.end_at)
      from (select profile_id, stream, max(end_at) as end_at
            from unnest($1::int8[], $2::text[], $3::timestamptz[]) as u(profile_id, stream, end_at) group by 1, 2) i
      where l.profile_id = i.profile_id and l.stream = i.stream`,
    values: [
      binaryArray(
        'int8',
        pushes.map((push) => push.profileId),
      ),
      binaryArray(
        'text',
        pushes.map((push) => push.stream),
      ),
      binaryArray(
        'timestamptz',
        pushes.map((push) => Math.max(...push.items.map((item) => item.endAtMs)) * 1000),
      ),
    ],
  })
}

async function quarantine(
  tx: Tx,
  profileId: string,
  stream: PushedStream,
  items: ReadonlyArray<WaitingItem & { reason: string; path: string }>,
): Promise<void> {
  await tx.query(
    `with input as (
       select * from unnest($3::int8[], $4::int8[], $5::text[], $6::text[]) as i(id, revision, reason, path)
     ), left_behind as (
       update vitalsync.outbox o set state = 'refused' from input i
       where o.id = i.id and o.revision = i.revision returning o.digest, o.body, i.reason, i.path
     )
     insert into vitalsync.quarantine (profile_id, stream, direction, digest, path, reason, body, first_seen_at, last_seen_at)
     select distinct on (b.digest) $1::int8, $2, 'push', b.digest, b.path, b.reason, b.body, clock_timestamp(), clock_timestamp()
     from left_behind b
     on conflict (profile_id, stream, direction, digest)
       do update set times = quarantine.times + 1, last_seen_at = excluded.last_seen_at, reason = excluded.reason`,
    [
      profileId,
      stream,
      items.map((item) => item.id),
      items.map((item) => item.revision),
      items.map((item) => item.reason),
      items.map((item) => item.path),
    ],
  )
}
