import type { FinalState, HistoryEvent } from './history.ts'

export const rules = [
  'push lost',
  'push doubled',
  'older push on top',
  'push invented',
  'item never pushed',
  'record invented',
  'older reading on top',
  'reading refused by Postgres',
  'covered by an outdated reading',
  'covered unlike upstream',
  'covered without rows',
  'never covered',
  'order ended twice',
  'order never ended',
  'run never ended',
  'run miscounted',
  'slot taken twice',
  'token leased twice',
  'token renewed without a lease',
  'generation stored twice',
  'refresh token spent twice',
  'row of an erased person',
  'row written after the erasure',
  'erased person came back',
  'erasure never ended',
  'fault never fired',
  'never at rest',
] as const

export type Rule = (typeof rules)[number]
export type Violation = { readonly rule: Rule; readonly text: string }
export type RunSeen = { readonly events: readonly HistoryEvent[]; readonly final: FinalState }

/** By our own id, of everybody who was ever there. */
export function namesById({ events, final }: RunSeen): Map<string, string> {
  const erased = eventsOf(events, 'erasure').map(({ profileId, profile }) => [profileId, profile] as const)
  return new Map([...erased, ...final.profiles.map(({ profileId, profile }) => [profileId, profile] as const)])
}

/** The events of one kind, in their order. */
export function eventsOf<K extends HistoryEvent['kind']>(
  events: readonly HistoryEvent[],
  kind: K,
): Extract<HistoryEvent, { kind: K }>[] {
  return events.filter((event): event is Extract<HistoryEvent, { kind: K }> => event.kind === kind)
}
