import type { Span } from '../../src/coverage.ts'
import { mustHaveHeld } from '../../src/planner.ts'
import type { Manner, SimulatedUpstream, There } from './upstream.ts'
import { LIFELONG } from './upstream.ts'
import type { Here, SimulatedWarehouse } from './warehouse.ts'

type State = {
  readonly manner: Manner
  readonly upstream: SimulatedUpstream
  readonly warehouse: SimulatedWarehouse
  now(): number
}

/** What the promises say must hold at every moment, and does not. */
export function liesOf({ manner, upstream, warehouse }: State): string[] {
  return [...warehouse.people].flatMap(([id, here]) => {
    const there = upstream.people.get(here.externalId)
    if (!there) return []
    upstream.derive(there)
    return [
      ...vouchedFor(here, there, manner),
      ...missed(here, there),
      ...overwritten(here, there),
      ...markedTooSoon(here, there),
    ].map((lie) => `${id}: ${lie}`)
  })
}

const found = (here: Here, name: number) => {
  const known = here.records.get(name)
  return known && !known.gone ? known.value : undefined
}

/** Rows and ledger are one, windows settle, what was pushed is read back: what is called covered is as upstream has it. */
function vouchedFor(here: Here, there: There, manner: Manner): string[] {
  if (there.state !== 'known') return []
  const unsure = new Set<number>()
  for (const change of there.changes.values()) {
    if (!change.done || here.items.get(change.item)?.state !== 'sent') unsure.add(change.name)
  }
  return [...there.truth.values()].flatMap((one) => {
    if (one.name === LIFELONG || unsure.has(one.name)) return []
    if (!here.ledger.covered.some((span) => belongsTo(span, one, manner))) return []
    // Of what reaches across the edge of what has settled such an upstream says no more: docs/decisions/gone-across-seams.md
    if (manner === 'beginning' && one.from !== one.to) return []
    const value = found(here, one.name)
    return value === one.value ? [] : [`record ${one.name} is ${value} here, ${one.value} upstream, and called covered`]
  })
}

const belongsTo = (covered: Span, one: Span, manner: Manner) =>
  mustHaveHeld({ ...covered, reachesBack: manner !== 'beginning' }, one)

/** What is called gone was gone upstream at some time, in whatever manner upstream tells. */
const missed = (here: Here, there: There): string[] =>
  [...here.records.values()].flatMap(({ name, gone }) =>
    gone && there.truth.get(name)?.everLost === false ? [`record ${name} is called gone, and never was`] : [],
  )

/** An older reading never overwrites a newer one: each record is as the newest reading that spoke of it says. */
function overwritten(here: Here, there: There): string[] {
  for (const read of here.letIn.splice(0)) {
    for (const one of there.truth.values()) {
      const { name } = one
      const speaks = read.told.has(name) || (read.complete && mustHaveHeld(read, one))
      const before = here.said.get(name)
      if (!speaks || (before && before.sentAtMs > read.sentAtMs)) continue
      const others = before?.sentAtMs === read.sentAtMs ? before.values : []
      here.said.set(name, { sentAtMs: read.sentAtMs, values: [...others, read.told.get(name)] })
    }
  }
  return [...here.said].flatMap(([name, { values }]) => {
    const value = found(here, name)
    return values.includes(value) ? [] : [`record ${name} is ${value}, but the newest reading said ${values}`]
  })
}

/** "Sent" is written only after upstream said yes. */
function markedTooSoon(here: Here, there: There): string[] {
  return [...here.items.values()].flatMap((item) =>
    item.state === 'sent' && !there.changes.has(item.id)
      ? [`${item.id} is marked sent, and upstream never saw it`]
      : [],
  )
}
