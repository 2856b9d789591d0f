import type { HandedItem, ItemVersion } from './history.ts'
import { eventsOf, type RunSeen, type Violation } from './rules.ts'

/** The handed forms of one item: the newest that was surely stored, and later ones that may have been. */
type Forms = { profile: string; acknowledged: number; unknown: Set<number> }

/**
 * Each item that the outbox acknowledged is upstream once, in its newest form. A form whose storing was not answered may be
 * there or not.
 */
export function checkPushes({ events, final }: RunSeen): Violation[] {
  const erased = new Set(eventsOf(events, 'erasure').map(({ profile }) => profile))
  const forms = formsOf(eventsOf(events, 'handed').filter(({ profile }) => !erased.has(profile)))
  const held = Map.groupBy(final.upstreamItems, ({ item }) => item)
  const perItem = [...forms].flatMap(([item, its]) => checkItem(item, its, held.get(item) ?? []))
  const accepted = eventsOf(events, 'push')
    .filter(({ outcome }) => outcome === 'acknowledged')
    .flatMap(({ items }) => items)
    .filter(({ item }) => forms.has(item) && !held.has(item))
  const lost = [...new Set(accepted.map(({ item }) => item))].map((item) => violation('push lost', item))
  const waits = final.waitingItems + final.quarantined
  const stuck = waits > 0 ? [violation('item never pushed', `${waits} wait or are quarantined`)] : []
  return [...perItem, ...lost, ...stuck]
}

const violation = (rule: Violation['rule'], text: string): Violation => ({ rule, text })

function formsOf(handed: readonly HandedItem[]): Map<string, Forms> {
  const forms = new Map<string, Forms>()
  for (const { item, profile, version, outcome } of handed) {
    const its = forms.get(item) ?? { profile, acknowledged: 0, unknown: new Set<number>() }
    if (outcome === 'acknowledged') forms.set(item, { profile, acknowledged: version, unknown: new Set() })
    else forms.set(item, { ...its, unknown: its.unknown.add(version) })
  }
  return forms
}

function checkItem(
  item: string,
  { profile, acknowledged, unknown }: Forms,
  held: ReadonlyArray<ItemVersion & { profile: string }>,
): Violation[] {
  const text = `${item} of ${profile}: version ${acknowledged} acknowledged`
  const [first] = held
  if (!first) return acknowledged > 0 ? [violation('push lost', text)] : []
  if (held.length > 1) return [violation('push doubled', `${item}: upstream ${held.length} times`)]
  const { version } = first
  if (version === acknowledged || unknown.has(version)) return []
  return [violation(version < acknowledged ? 'older push on top' : 'push invented', `${text}, upstream ${version}`)]
}
