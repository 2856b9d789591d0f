import type { Span } from '../../src/base/time/spans.ts'
import { mustHaveHeld } from '../../src/pipeline/ledger/judge.ts'
import type { ModelProfile } from './model-state.ts'
import type { Truth } from './records.ts'
import { isLifelong } from './truth.ts'
import type { Manner, SimulatedUpstream, UpstreamProfile } from './upstream.ts'
import type { ModelWarehouse } from './warehouse.ts'

type State = { readonly manner: Manner; readonly upstream: SimulatedUpstream; readonly model: ModelWarehouse }

/** The promises that must hold at every moment, and are broken now. */
export function violationsOf({ manner, upstream, model }: State): string[] {
  return [...model.data.people].flatMap(([id, here]) => {
    const there = upstream.people.get(here.externalId)
    if (!there) return []
    upstream.derive(there)
    return [
      ...coveredButDifferent(here, there, manner),
      ...goneWrongly(here, there),
      ...overwritten(here, there),
      ...markedTooSoon(here, there),
    ].map((violation) => `${id}: ${violation}`)
  })
}

/** Where the end is part of the key, the record that ends as upstream's does. */
const found = (here: ModelProfile, { name, stream, endMs }: Truth) =>
  [...here.records.values()].find(
    (one) => one.name === name && one.goneMs === null && (stream !== 'biomarkers' || one.endMs === endMs),
  )?.value

/** Whether upstream took the form of the item that this warehouse has, and the warehouse knows it. */
function isSent(here: ModelProfile, id: string): boolean {
  const item = here.items.get(id)
  if (!item) return false
  const parcel = here.parcels.get(item.parcelId)
  const waits = parcel !== undefined && !parcel.takenOut.includes(item.place)
  return !waits && !here.quarantine.has(`push data-logs ${item.body}`)
}

const formOf = (here: ModelProfile, id: string): unknown => JSON.parse(here.items.get(id)?.body ?? '{}').value

/** Rows and ledger are one commit, windows settle, pushed items are read back: a covered record is as upstream has it. */
function coveredButDifferent(here: ModelProfile, there: UpstreamProfile, manner: Manner): string[] {
  if (there.state !== 'known') return []
  const [unsure, coming] = [new Set<number>(), new Set<number>()]
  for (const change of there.changes.values()) {
    if (!isSent(here, change.item) || formOf(here, change.item) !== change.value) unsure.add(change.name)
    else if (!change.done) coming.add(change.name)
  }
  return [...there.truth.values()].flatMap((one) => {
    if (isLifelong(one) || one.stream === 'demographics' || one.revisedLate || unsure.has(one.name)) return []
    const covered = here.ledger.get(one.stream)?.covered ?? []
    if (!covered.some((span) => belongsTo(span, one, manner))) return []
    // Such an upstream says no more about a record across the edge of the settled time: docs/decisions/gone-across-windows.md
    if (manner === 'beginning' && one.startMs !== one.endMs) return []
    // A log names the period that its record had: it does not touch where a longer record ends.
    if (coming.has(one.name) && one.everGrew) return []
    if (coming.has(one.name)) return [`record ${one.name} is called covered, and upstream still derives it`]
    const value = found(here, one)
    return value === one.value ? [] : [`record ${one.name} is ${value} here, ${one.value} upstream, and called covered`]
  })
}

const belongsTo = (covered: Span, one: Span, manner: Manner) =>
  mustHaveHeld({ ...covered, reachesBack: manner !== 'beginning' }, one)

/** A record that is marked gone was gone upstream at some time, however upstream chooses records. */
const goneWrongly = (here: ModelProfile, there: UpstreamProfile): string[] =>
  [...here.records.values()].flatMap(({ name, goneMs }) =>
    goneMs !== null && there.truth.get(name)?.everLost === false
      ? [`record ${name} is called gone, and never was`]
      : [],
  )

/** An older reading never overwrites a newer one: each record is as the newest reading that spoke of it says. */
function overwritten(here: ModelProfile, there: UpstreamProfile): string[] {
  for (const read of here.newReadings.splice(0)) {
    for (const one of there.truth.values()) {
      const { name } = one
      const before = here.newestValues.get(name)
      if (!speaksOf(read, one) || (before && before.sentAtMs > read.sentAtMs)) continue
      const others = before?.sentAtMs === read.sentAtMs ? before.values : []
      here.newestValues.set(name, { sentAtMs: read.sentAtMs, values: [...others, read.values.get(name)] })
    }
  }
  return [...here.newestValues].flatMap(([name, { values }]) => {
    const one = there.truth.get(name)
    if (!one || one.everGrew) return []
    const value = found(here, one)
    return values.includes(value) ? [] : [`record ${name} is ${value}, but the newest reading said ${values}`]
  })
}

const speaksOf = (read: ModelProfile['newReadings'][number], one: Truth): boolean =>
  read.values.has(one.name) ||
  (read.complete && read.stream === one.stream && (read.stream === 'demographics' || mustHaveHeld(read, one)))

/** "Sent" is written only after upstream said yes. */
const markedTooSoon = (here: ModelProfile, there: UpstreamProfile): string[] =>
  [...here.items.keys()].flatMap((id) =>
    isSent(here, id) && !there.changes.has(id) ? [`${id} is marked sent, and upstream never saw it`] : [],
  )
