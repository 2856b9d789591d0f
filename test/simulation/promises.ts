import { mustHaveHeld } from '../../src/ledger/judge.ts'
import type { Span } from '../../src/time/spans.ts'
import type { Manner, SimulatedUpstream, UpstreamProfile } from './upstream.ts'
import { LIFELONG } from './upstream.ts'
import type { SimulatedWarehouse, WarehouseProfile } from './warehouse.ts'

type State = {
  readonly manner: Manner
  readonly upstream: SimulatedUpstream
  readonly warehouse: SimulatedWarehouse
  now(): number
}

/** The promises that must hold at every moment, and are broken now. */
export function violationsOf({ manner, upstream, warehouse }: State): string[] {
  return [...warehouse.people].flatMap(([id, here]) => {
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

const found = (here: WarehouseProfile, name: number) => {
  const known = here.records.get(name)
  return known && !known.gone ? known.value : undefined
}

/** Rows and ledger are one commit, windows settle, pushed items are read back: a covered record is as upstream has it. */
function coveredButDifferent(here: WarehouseProfile, there: UpstreamProfile, manner: Manner): string[] {
  if (there.state !== 'known') return []
  const [unsure, coming] = [new Set<number>(), new Set<number>()]
  for (const change of there.changes.values()) {
    if (here.items.get(change.item)?.state !== 'sent') unsure.add(change.name)
    else if (!change.done) coming.add(change.name)
  }
  return [...there.truth.values()].flatMap((one) => {
    if (one.name === LIFELONG || unsure.has(one.name)) return []
    if (!here.ledger.covered.some((span) => belongsTo(span, one, manner))) return []
    // Such an upstream says no more about a record across the edge of the settled time: docs/decisions/gone-across-windows.md
    if (manner === 'beginning' && one.startMs !== one.endMs) return []
    if (coming.has(one.name)) return [`record ${one.name} is called covered, and upstream still derives it`]
    const value = found(here, one.name)
    return value === one.value ? [] : [`record ${one.name} is ${value} here, ${one.value} upstream, and called covered`]
  })
}

const belongsTo = (covered: Span, one: Span, manner: Manner) =>
  mustHaveHeld({ ...covered, reachesBack: manner !== 'beginning' }, one)

/** A record that is marked gone was gone upstream at some time, in whatever manner upstream tells records. */
const goneWrongly = (here: WarehouseProfile, there: UpstreamProfile): string[] =>
  [...here.records.values()].flatMap(({ name, gone }) =>
    gone && there.truth.get(name)?.everLost === false ? [`record ${name} is called gone, and never was`] : [],
  )

/** An older reading never overwrites a newer one: each record is as the newest reading that spoke of it says. */
function overwritten(here: WarehouseProfile, there: UpstreamProfile): string[] {
  for (const read of here.newReadings.splice(0)) {
    for (const one of there.truth.values()) {
      const { name } = one
      const speaks = read.values.has(name) || (read.complete && mustHaveHeld(read, one))
      const before = here.newestValues.get(name)
      if (!speaks || (before && before.sentAtMs > read.sentAtMs)) continue
      const others = before?.sentAtMs === read.sentAtMs ? before.values : []
      here.newestValues.set(name, { sentAtMs: read.sentAtMs, values: [...others, read.values.get(name)] })
    }
  }
  return [...here.newestValues].flatMap(([name, { values }]) => {
    const value = found(here, name)
    return values.includes(value) ? [] : [`record ${name} is ${value}, but the newest reading said ${values}`]
  })
}

/** "Sent" is written only after upstream said yes. */
function markedTooSoon(here: WarehouseProfile, there: UpstreamProfile): string[] {
  return [...here.items.values()].flatMap((item) =>
    item.state === 'sent' && !there.changes.has(item.id)
      ? [`${item.id} is marked sent, and upstream never saw it`]
      : [],
  )
}
