import { createBatcher } from '../../../base/postgres/batcher.ts'
import type { OutboxItem, PushedParcels, RefusedItem } from '../../transfer/parcel.ts'
import type { Catalogue } from '../../transfer/stream.ts'
import { type Pool, transaction } from '../postgres/warehouse-pool.ts'
import { addItems } from './add-items.ts'
import { type MarkedPush, markSent } from './mark-sent.ts'
import { quarantineRefusedItems } from './refused-items.ts'
import { readWaiting, type WaitingQuery } from './stored-parcels.ts'

export type Outbox = ReturnType<typeof createOutbox>

type OutboxOptions = {
  readonly pool: Pool
  readonly catalogue: Catalogue
  /** How long after a push the first reading of what it touched counts. */
  readonly firstReadingMs: number
  /** When items are handed in. */
  readonly now: () => number
}

export function createOutbox(options: OutboxOptions) {
  const { pool, catalogue, firstReadingMs, now } = options
  const mergingStreams = mergingStreamsOf(catalogue)
  const mark = createBatcher({
    itemsMax: 100,
    batchesAtOnce: 1, // a commit of many pushes costs little more than a commit of a few
    keyOf: ({ profileId }: MarkedPush) => pool.division.keyOf(profileId),
    run: (pushes: readonly MarkedPush[]) => markSent({ pool, pulled: catalogue.pulled, firstReadingMs }, pushes),
  })
  // Few profiles at a time: their waiting parcels are in memory together.
  const read = createBatcher({
    itemsMax: 8,
    batchesAtOnce: 2,
    keyOf: ({ profileId }: WaitingQuery) => pool.division.keyOf(profileId),
    run: (queries: readonly WaitingQuery[]) => readWaiting(pool, queries),
  })
  return {
    /**
     * Adds items, and packs the items of one call into parcels. An item that already waits or was sent in this very form
     * counts as a duplicate and changes nothing, as does an item that its source changed earlier than the stored form. An item that
     * waits in another form is replaced.
     */
    add: (items: readonly OutboxItem[]) => addItems({ pool, mergingStreams, onlyMissing: false, now }, items),
    /** Adds items where none is newer than the stored ones: an item that came before, in any form, is a duplicate. */
    addMissing: (items: readonly OutboxItem[]) => addItems({ pool, mergingStreams, onlyMissing: true, now }, items),
    /** The oldest waiting parcels, by endDateTime, and whether more parcels wait. */
    readWaiting: (profileId: string, stream: string) => read({ profileId, stream }),
    /**
     * Call it after upstream accepted the parcels. One transaction deletes the parcels, makes due again under a new generation
     * what they touch, moves the push checkpoint, and counts the items for the run. An item that was replaced meanwhile waits
     * in another parcel.
     */
    markSent: (push: PushedParcels, runId?: string) => mark({ ...push, uncovers: true, runId }),
    /** Upstream has this already, by what it last gave: the parcels count as sent, without a call, and touch nothing. */
    markKnown: (push: PushedParcels) => mark({ ...push, uncovers: false, runId: undefined }),
    /** The snapshot of this stream that upstream last gave, if it ever did. */
    lastSnapshot: (profileId: string, name: string) => readLastSnapshot(options, profileId, name),
    /** Moves items that upstream refused from their parcels to the quarantine, with upstream's reason. */
    quarantineRefused: (push: PushedParcels, items: readonly RefusedItem[]) =>
      transaction(pool, (tx) => quarantineRefusedItems(tx, push, items)),
  }
}

/** The streams whose waiting updates are merged. */
function mergingStreamsOf({ pushed }: Catalogue): Set<string> {
  const merging = pushed.filter((stream) => stream.kind === 'snapshot' && stream.merge === 'merge-patch')
  return new Set(merging.map(({ name }) => name))
}

async function readLastSnapshot(
  { pool, catalogue }: { pool: Pool; catalogue: Catalogue },
  profileId: string,
  name: string,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const stream = catalogue.pulled.find((pulledStream) => pulledStream.kind === 'snapshot' && pulledStream.name === name)
  if (!stream) return undefined
  const { rows } = await pool.query<{ body: string }>(
    `select body from vitalsync.${stream.table} where profile_id = $1 and gone_at is null`,
    [profileId],
  )
  return rows[0] && JSON.parse(rows[0].body)
}
