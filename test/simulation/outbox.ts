import type { Parcel, PushedParcels } from '../../src/transfer/parcel.ts'
import type { Outbox } from '../../src/warehouse/outbox/outbox.ts'
import type { Ask } from './stage.ts'

/** A log on its way: its id, and what became of it. */
type Item = { readonly id: string; state: 'waiting' | 'sent' | 'refused' }
type Packed = { parcel: Parcel; readonly items: readonly Item[] }

export type OutboxOfOne = { readonly items: Map<string, Item>; readonly parcels: Map<string, Packed> }

export type HandedIn = { readonly id: string; readonly startAtMs: number; readonly endAtMs: number }

/** Puts logs in, as one parcel. */
export function handIn({ items, parcels }: OutboxOfOne, logs: readonly HandedIn[]): void {
  const bodies = logs.map((log) => JSON.stringify(log))
  const packed: Item[] = logs.map(({ id }) => ({ id, state: 'waiting' }))
  for (const item of packed) items.set(item.id, item)
  const body = bodies.join(',')
  const parcel: Parcel = {
    id: String(items.size),
    body,
    bytes: body.length,
    sizes: bodies.map(({ length }) => length).join(','),
    takenOut: [],
    waiting: logs.length,
    mode: 'patch',
    startAtMs: Math.min(...logs.map(({ startAtMs }) => startAtMs)),
    endAtMs: Math.max(...logs.map(({ endAtMs }) => endAtMs)),
  }
  parcels.set(parcel.id, { parcel, items: packed })
}

type Parts = { ask: Ask; of: (profileId: string) => OutboxOfOne | undefined; touch: (push: PushedParcels) => void }

/** The outbox as a job sees it. `touch` makes due again what upstream derives from a push, in the same transaction. */
export function createOutbox({ ask, of, touch }: Parts): Outbox {
  return {
    readWaiting: (profileId) =>
      ask('look into outbox', () => {
        const parcels = [...(of(profileId)?.parcels.values() ?? [])].map(({ parcel }) => parcel)
        return { parcels: parcels.sort((a, b) => a.endAtMs - b.endAtMs), more: false }
      }),
    markSent: (push) =>
      ask('mark sent', () => {
        for (const { id } of push.parcels) {
          const held = of(push.profileId)?.parcels.get(id)
          for (const item of held?.items ?? []) if (item.state === 'waiting') item.state = 'sent'
          of(push.profileId)?.parcels.delete(id)
        }
        touch(push)
      }),
    quarantineRefused: (push, pieces) =>
      ask('quarantine', () => {
        for (const { parcelId, place } of pieces) takeOut(of(push.profileId), parcelId, place)
      }),
    markKnown: () => ask('mark known', () => undefined),
    lastSnapshot: () => ask('look up snapshot', () => undefined),
    add: () => ask('add', () => ({ accepted: 0, duplicate: 0 })),
    addMissing: () => ask('add', () => ({ accepted: 0, duplicate: 0 })),
  }
}

function takeOut(outbox: OutboxOfOne | undefined, parcelId: string, place: number): void {
  const held = outbox?.parcels.get(parcelId)
  const item = held?.items[place]
  if (!held || !item || held.parcel.takenOut.includes(place)) return
  item.state = 'refused'
  const { parcel } = held
  held.parcel = { ...parcel, takenOut: [...parcel.takenOut, place], waiting: parcel.waiting - 1 }
  if (held.parcel.waiting === 0) outbox?.parcels.delete(parcelId)
}
