import { composeUpdates, type SnapshotUpdate } from '../../transfer/merge-patch.ts'
import type { AcceptedCounts, OutboxItem } from '../../transfer/parcel.ts'
import { binaryColumn, binaryRows } from '../postgres/binary-format.ts'
import { copyRows } from '../postgres/copy-rows.ts'
import { namedSql, type Pool, pipelined, type Tx, transaction } from '../postgres/warehouse-pool.ts'
import { addLogDays } from './log-days.ts'
import { itemDigest, type ParcelPlace, type PlaceOfProfile, packParcels, takeItemsOut } from './stored-parcels.ts'

/** The last form of an item within one call. `itemCount`: how many accepted items of the call it contains. */
type ItemToAdd = { readonly item: OutboxItem; readonly digest: string; readonly itemCount: number }

/** An item that came in an earlier call; it need not wait any more. `stays`: it came in the same form, or in a newer form. */
type FormerItem = { readonly stays: boolean; readonly parcelId: string | null; readonly place: number }

/**
 * `mergingStreams`: the names of the streams whose updates name the fields that they change. `onlyMissing`: an item that came in an
 * earlier call stays in the form that it has.
 */
type AddOptions = {
  readonly pool: Pool
  readonly mergingStreams: ReadonlySet<string>
  readonly onlyMissing: boolean
  readonly now: () => number
}

export async function addItems(options: AddOptions, items: readonly OutboxItem[]): Promise<AcceptedCounts> {
  if (items.length === 0) return { accepted: 0, duplicate: 0 }
  const { pool } = options
  const added: ItemToAdd[] = []
  for (const part of pool.division.split(items, ({ profileId }) => profileId)) {
    const result = await transaction(pool, (tx) => addInTransaction(tx, options, part), 'by-index')
    if (result.length > 0) await makeProfilesDue(pool, result)
    added.push(...result)
  }
  const accepted = added.reduce((sum, { itemCount }) => sum + itemCount, 0)
  return { accepted, duplicate: items.length - accepted }
}

async function addInTransaction(
  tx: Tx,
  { mergingStreams, onlyMissing, now }: AddOptions,
  items: readonly OutboxItem[],
): Promise<readonly ItemToAdd[]> {
  const isUploaded = await lockProfiles(tx, items)
  const known = items.filter(({ profileId }) => isUploaded.has(profileId))
  const updates = known.filter(({ stream }) => mergingStreams.has(stream))
  const entries = latestForms(known, mergingStreams, await waitingUpdates(tx, updates))
  const formers = await findFormerItems(tx, entries)
  const added = entries.filter((_, index) => (onlyMissing ? !formers.has(index) : formers.get(index)?.stays !== true))
  if (!onlyMissing) await takeItemsOut(tx, formerPlaces(entries, formers))
  const placed = await packParcels(tx, added)
  const cameBefore = new Set([...formers.keys()].map((index) => entries[index]?.item))
  const { insert = [], upsert = [] } = Object.groupBy(placed, ({ item }) =>
    cameBefore.has(item) ? 'upsert' : 'insert',
  )
  await pipelined([
    insertItems(tx, insert),
    upsertItems(tx, upsert),
    addLogDays(tx, placed, { now, cameBefore, isUploaded }),
  ])
  return added
}

/**
 * Imports into one profile take turns by this lock, so that at most one form of an item waits. By profile: whether logs were handed in
 * since the person's habit was computed. The result lacks erased profiles: their items are dropped.
 */
async function lockProfiles(tx: Tx, items: readonly OutboxItem[]): Promise<Map<string, boolean>> {
  const { rows } = await tx.query<{ id: string; uploaded: boolean }>({
    name: 'lock profiles',
    text: 'select id, uploaded from vitalsync.profiles where id = any($1::int8[]) order by id for no key update',
    values: [[...new Set(items.map((item) => item.profileId))]],
  })
  return new Map(rows.map(({ id, uploaded }) => [id, uploaded]))
}

type WaitingUpdates = ReadonlyMap<string, SnapshotUpdate>

/** When an item comes in several forms the form that its source changed last counts, else the last form. Updates of a merging stream become one update. */
function latestForms(
  items: readonly OutboxItem[],
  mergingStreams: ReadonlySet<string>,
  waiting: WaitingUpdates,
): ItemToAdd[] {
  const entries = new Map<string, ItemToAdd>()
  for (const item of items) {
    const { profileId, stream, itemKey, body, mode } = item
    const key = `${profileId} ${stream} ${itemKey}`
    if (!mergingStreams.has(stream)) {
      if (!isOlderForm(item, entries.get(key)?.item.modifiedMs))
        entries.set(key, { item, digest: itemDigest(body, mode), itemCount: 1 })
      continue
    }
    const before = entries.get(key)
    const earlier = before?.item ?? waiting.get(`${profileId} ${stream}`)
    const merged = composeUpdates(earlier, item)
    const changes = earlier?.body === merged.body && earlier.mode === merged.mode ? 0 : 1
    entries.set(key, {
      item: { ...item, ...merged },
      digest: itemDigest(merged.body, merged.mode),
      itemCount: (before?.itemCount ?? 0) + changes,
    })
  }
  return [...entries.values()]
}

/** A form without the time of its last change may be newer than any other. */
export const isOlderForm = ({ modifiedMs }: OutboxItem, otherMs: number | null | undefined): boolean =>
  modifiedMs !== undefined && modifiedMs < (otherMs ?? modifiedMs)

/** By profile and stream. */
async function waitingUpdates(tx: Tx, updates: readonly OutboxItem[]): Promise<WaitingUpdates> {
  if (updates.length === 0) return new Map()
  const { rows } = await tx.query<Required<SnapshotUpdate> & { profile_id: string; stream: string }>(
    `select profile_id, stream, body, mode from vitalsync.parcels
     where profile_id = any($1::int8[]) and stream = any($2::text[])`,
    [updates.map(({ profileId }) => profileId), [...new Set(updates.map(({ stream }) => stream))]],
  )
  return new Map(rows.map(({ profile_id, stream, body, mode }) => [`${profile_id} ${stream}`, { body, mode }]))
}

/** By the entry's index. `offset 0` makes Postgres look items up one by one by their key: the table may hold millions. */
async function findFormerItems(tx: Tx, entries: readonly ItemToAdd[]): Promise<Map<number, FormerItem>> {
  const { rows } = await tx.query<FormerItem & { number: number }>({
    name: 'look up items',
    text: `select (i.number - 1)::int as number, m.digest = i.digest or coalesce(m.modified_ms > i.modified_ms, false) as stays, m.parcel_id as "parcelId", m.place
      from unnest($1::int8[], $2::text[], $3::text[], $4::bytea[], $5::int8[]) with ordinality
        as i(profile_id, stream, item_key, digest, modified_ms, number)
      cross join lateral (select * from vitalsync.items x where x.profile_id = i.profile_id and x.stream = i.stream
        and x.item_key = i.item_key and ${namedSql(tx, 'x.profile_id', '$6')} offset 0) m`,
    values: [...itemColumns(entries), [...new Set(entries.map(({ item }) => item.profileId))]],
  })
  return new Map(rows.map((row) => [row.number, row]))
}

const formerPlaces = (entries: readonly ItemToAdd[], formers: ReadonlyMap<number, FormerItem>): PlaceOfProfile[] =>
  entries.flatMap(({ item }, index) => {
    const former = formers.get(index)
    if (!former || former.stays || former.parcelId === null) return []
    return [{ profileId: item.profileId, parcelId: former.parcelId, place: former.place }]
  })

const itemColumns = (entries: readonly ItemToAdd[]) => [
  binaryColumn('int8', entries, ({ item }) => item.profileId),
  binaryColumn('text', entries, ({ item }) => item.stream),
  binaryColumn('text', entries, ({ item }) => item.itemKey),
  binaryColumn('bytea', entries, ({ digest }) => digest),
  binaryColumn('int8', entries, ({ item }) => item.modifiedMs ?? null),
]

async function insertItems(tx: Tx, entries: ReadonlyArray<ItemToAdd & ParcelPlace>): Promise<void> {
  if (entries.length === 0) return
  const rows = binaryRows(entries, [
    { type: 'int8', cell: ({ item }) => item.profileId },
    { type: 'int8', cell: ({ parcelId }) => parcelId },
    { type: 'int4', cell: ({ place }) => place },
    { type: 'bytea', cell: ({ digest }) => digest },
    { type: 'int8', cell: ({ item }) => item.modifiedMs ?? null },
    { type: 'text', cell: ({ item }) => item.stream },
    { type: 'text', cell: ({ item }) => item.itemKey },
  ])
  const columns = 'profile_id, parcel_id, place, digest, modified_ms, stream, item_key'
  await copyRows(tx, [{ statement: `copy vitalsync.items (${columns}) from stdin (format binary)`, rows }])
}

async function upsertItems(tx: Tx, entries: ReadonlyArray<ItemToAdd & ParcelPlace>): Promise<void> {
  if (entries.length === 0) return
  await tx.query({
    name: 'update items',
    text: `insert into vitalsync.items (profile_id, stream, item_key, digest, modified_ms, parcel_id, place)
      select * from unnest($1::int8[], $2::text[], $3::text[], $4::bytea[], $5::int8[], $6::int8[], $7::int4[])
      on conflict (profile_id, stream, item_key)
        do update set digest = excluded.digest, modified_ms = excluded.modified_ms, parcel_id = excluded.parcel_id, place = excluded.place`,
    values: [
      ...itemColumns(entries),
      binaryColumn('int8', entries, ({ parcelId }) => parcelId),
      binaryColumn('int4', entries, ({ place }) => place),
    ],
  })
}

/** Profiles with new items are due at once: the next sweep pushes the items. */
async function makeProfilesDue(pool: Pool, added: readonly ItemToAdd[]): Promise<void> {
  await pool.query(
    `update vitalsync.profiles set due_at = statement_timestamp() where id = any($1) and due_at > statement_timestamp()`,
    [[...new Set(added.map(({ item }) => item.profileId))]],
  )
}
