import type { Parcel, Piece } from '../parcel.ts'
import type { PulledStream } from '../stream.ts'
import { createBatch } from './batch.ts'
import { addItems } from './outbox-add.ts'
import { setAside } from './outbox-refused.ts'
import { markSent } from './outbox-sent.ts'
import { readWaiting, type Waiting, type Wanted } from './parcels.ts'
import { type Pool, transaction } from './pool.ts'

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

/** Items of one person and stream, by the parcels they lie in. */
export type Push = {
  readonly profileId: string
  readonly stream: PushedStream
  readonly parcels: readonly Parcel[]
}

export type RefusedPiece = Piece & { readonly path: string; readonly reason: string }

export type Accepted = { readonly accepted: number; readonly duplicate: number }

export type Outbox = {
  /**
   * Puts items in, and packs what comes together. What is already waiting or was sent in just this form counts as
   * duplicate and changes nothing. Of an item that waits in another form only the new one goes on waiting.
   */
  add(items: readonly OutboxItem[]): Promise<Accepted>
  /** What waits, oldest endDateTime first, and whether there is more than this. */
  waiting(profileId: string, stream: PushedStream): Promise<Waiting>
  /**
   * Upstream said yes. In one transaction: the parcels are gone; what they touch becomes due again under a new
   * generation; the push checkpoint moves on. An item that was replaced meanwhile waits in another parcel.
   */
  sent(push: Push): Promise<void>
  /** Upstream holds this already, by what it last gave: counts as sent without a call, and without touching anything. */
  known(push: Push): Promise<void>
  /** The demographics that upstream last gave, if it ever did. */
  lastDemographics(profileId: string): Promise<Readonly<Record<string, unknown>> | undefined>
  /** Upstream said no to these. They leave their parcels for the quarantine, with its reason. */
  refused(push: Push, pieces: readonly RefusedPiece[]): Promise<void>
}

export type OutboxOptions = { pool: Pool; streams: readonly PulledStream[]; digestMs: number }

export function openOutbox(options: OutboxOptions): Outbox {
  const { pool } = options
  const mark = createBatch({
    itemsMax: 100,
    atOnce: 1, // a commit for many costs little more than one for a few
    run: (pushes: readonly (Push & { touches: boolean })[]) => markSent(options, pushes),
  })
  // A few people at a time: what they have waiting is in memory together.
  const read = createBatch({ itemsMax: 8, atOnce: 2, run: (wanted: readonly Wanted[]) => readWaiting(pool, wanted) })
  return {
    add: (items) => addItems(pool, items),
    waiting: (profileId, stream) => read({ profileId, stream }),
    sent: (push) => mark({ ...push, touches: true }),
    known: (push) => mark({ ...push, touches: false }),
    async lastDemographics(profileId) {
      const { rows } = await pool.query(
        'select body from vitalsync.demographics where profile_id = $1 and gone_at is null',
        [profileId],
      )
      return rows[0] && JSON.parse(rows[0].body)
    },
    refused: (push, pieces) => transaction(pool, (tx) => setAside(tx, push, pieces)),
  }
}
