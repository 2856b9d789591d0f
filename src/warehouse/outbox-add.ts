import { type Change, together } from '../changes.ts'
import { binaryColumn, binaryRows } from './binary-arrays.ts'
import { copyAll } from './copy.ts'
import type { Accepted, OutboxItem } from './outbox.ts'
import { digestOfItem, type Place, packParcels, takeOut } from './parcels.ts'
import { beginByIndex, type Pool, type Tx, transaction } from './pool.ts'

/** The last word on an item within one call, and how many items of the call it stands for. */
type Entry = { readonly item: OutboxItem; readonly digest: string; readonly standsFor: number }

/** What is remembered of an item that came before; it need not wait any more. */
type Former = { readonly same: boolean; readonly parcelId: string | null; readonly place: number }

export async function addItems(pool: Pool, items: readonly OutboxItem[]): Promise<Accepted> {
  if (items.length === 0) return { accepted: 0, duplicate: 0 }
  const added = await transaction(pool, (tx) => addIn(tx, items), beginByIndex)
  if (added.length > 0) await wake(pool, added)
  const accepted = added.reduce((sum, { standsFor }) => sum + standsFor, 0)
  return { accepted, duplicate: items.length - accepted }
}

async function addIn(tx: Tx, items: readonly OutboxItem[]): Promise<readonly Entry[]> {
  const ours = await lockProfiles(tx, items)
  const entries = await lastWords(
    tx,
    items.filter(({ profileId }) => ours.has(profileId)),
  )
  const formers = await lookUp(tx, entries)
  const added = entries.filter((_, index) => formers.get(index)?.same !== true)
  await takeOut(tx, placesOf([...formers.values()]))
  const placed = await packParcels(tx, added)
  const known = new Set([...formers.keys()].map((index) => entries[index]?.item))
  await remember(
    tx,
    placed.filter(({ item }) => !known.has(item)),
  )
  await rememberAnew(
    tx,
    placed.filter(({ item }) => known.has(item)),
  )
  return added
}

/** Imports of one person take turns, so that of each item one form waits at most; of the erased nothing comes in. */
async function lockProfiles(tx: Tx, items: readonly OutboxItem[]): Promise<Set<string>> {
  const { rows } = await tx.query<{ id: string }>(
    'select id from vitalsync.profiles where id = any($1::int8[]) order by id for no key update',
    [[...new Set(items.map((item) => item.profileId))]],
  )
  return new Set(rows.map(({ id }) => id))
}

/** Of several forms of an item the last counts; partial demographics say together what they say one after the other. */
async function lastWords(tx: Tx, items: readonly OutboxItem[]): Promise<Entry[]> {
  const entries = new Map<string, Entry>()
  const waiting = await waitingDemographics(tx, items)
  for (const item of items) {
    const { profileId, stream, itemKey, body, mode } = item
    const key = `${profileId} ${stream} ${itemKey}`
    if (stream !== 'demographics') {
      entries.set(key, { item, digest: digestOfItem(body, mode), standsFor: 1 })
      continue
    }
    const before = entries.get(key)
    const earlier = before?.item ?? waiting.get(profileId)
    const change = together(earlier, item)
    const says = earlier?.body === change.body && earlier.mode === change.mode ? 0 : 1
    entries.set(key, {
      item: { ...item, ...change },
      digest: digestOfItem(change.body, change.mode),
      standsFor: (before?.standsFor ?? 0) + says,
    })
  }
  return [...entries.values()]
}

async function waitingDemographics(tx: Tx, items: readonly OutboxItem[]): Promise<Map<string, Change>> {
  const ids = items.filter(({ stream }) => stream === 'demographics').map(({ profileId }) => profileId)
  if (ids.length === 0) return new Map()
  const { rows } = await tx.query<Required<Change> & { profile_id: string }>(
    `select profile_id, body, mode from vitalsync.parcels where profile_id = any($1::int8[]) and stream = 'demographics'`,
    [ids],
  )
  return new Map(rows.map(({ profile_id, body, mode }) => [profile_id, { body, mode }]))
}

/** By the entry's number. One after the other by the key (`offset 0` says so): there may be millions. */
async function lookUp(tx: Tx, entries: readonly Entry[]): Promise<Map<number, Former>> {
  const { rows } = await tx.query<Former & { number: number }>({
    name: 'look up items',
    text: `select (i.number - 1)::int as number, m.digest = i.digest as same, m.parcel_id as "parcelId", m.place
      from unnest($1::int8[], $2::text[], $3::text[], $4::bytea[]) with ordinality
        as i(profile_id, stream, item_key, digest, number)
      cross join lateral (select * from vitalsync.items x
        where x.profile_id = i.profile_id and x.stream = i.stream and x.item_key = i.item_key offset 0) m`,
    values: namesOf(entries),
  })
  return new Map(rows.map((row) => [row.number, row]))
}

const placesOf = (formers: readonly Former[]): Place[] =>
  formers.flatMap(({ same, parcelId, place }) => (same || parcelId === null ? [] : [{ parcelId, place }]))

const namesOf = (entries: readonly Entry[]) => [
  binaryColumn('int8', entries, ({ item }) => item.profileId),
  binaryColumn('text', entries, ({ item }) => item.stream),
  binaryColumn('text', entries, ({ item }) => item.itemKey),
  binaryColumn('bytea', entries, ({ digest }) => digest),
]

async function remember(tx: Tx, entries: ReadonlyArray<Entry & Place>): Promise<void> {
  if (entries.length === 0) return
  const rows = binaryRows(entries, [
    { type: 'int8', cell: ({ item }) => item.profileId },
    { type: 'int8', cell: ({ parcelId }) => parcelId },
    { type: 'int4', cell: ({ place }) => place },
    { type: 'bytea', cell: ({ digest }) => digest },
    { type: 'text', cell: ({ item }) => item.stream },
    { type: 'text', cell: ({ item }) => item.itemKey },
  ])
  const columns = 'profile_id, parcel_id, place, digest, stream, item_key'
  await copyAll(tx, [{ statement: `copy vitalsync.items (${columns}) from stdin (format binary)`, rows }])
}

async function rememberAnew(tx: Tx, entries: ReadonlyArray<Entry & Place>): Promise<void> {
  if (entries.length === 0) return
  await tx.query({
    name: 'remember anew',
    text: `insert into vitalsync.items (profile_id, stream, item_key, digest, parcel_id, place)
      select * from unnest($1::int8[], $2::text[], $3::text[], $4::bytea[], $5::int8[], $6::int4[])
      on conflict (profile_id, stream, item_key)
        do update set digest = excluded.digest, parcel_id = excluded.parcel_id, place = excluded.place`,
    values: [
      ...namesOf(entries),
      binaryColumn('int8', entries, ({ parcelId }) => parcelId),
      binaryColumn('int4', entries, ({ place }) => place),
    ],
  })
}

/** What was put in is due at once: the next sweep takes it along. */
async function wake(pool: Pool, added: readonly Entry[]): Promise<void> {
  await pool.query(
    `update vitalsync.profiles set due_at = clock_timestamp() where id = any($1) and due_at > clock_timestamp()`,
    [[...new Set(added.map(({ item }) => item.profileId))]],
  )
}
