import { DAY } from '../../../src/base/time/units.ts'
import type { FinalState, HistoryEvent, Witnessed } from './history.ts'
import type { Rule, RunSeen } from './rules.ts'

/** One false statement about a true run; `pick` chooses where. */
export type Lie = { readonly rule: Rule; readonly says: string; tell(run: RunSeen, pick: Pick): RunSeen }
export type Pick = <T>(from: readonly T[]) => T

export const withFinal = ({ events, final }: RunSeen, changes: Partial<FinalState>): RunSeen => ({
  events,
  final: { ...final, ...changes },
})
export const withEvents = ({ events, final }: RunSeen, ...more: HistoryEvent[]): RunSeen => ({
  events: [...events, ...more],
  final,
})
export const exchanged = <T>(items: readonly T[], former: T, ...next: T[]): T[] =>
  items.flatMap((item) => (item === former ? next : [item]))

export const isKind =
  <K extends Witnessed['kind']>(kind: K) =>
  (row: Witnessed): row is Extract<Witnessed, { kind: K }> =>
    row.kind === kind

/** Repeats or changes one witnessed row; `next` gets a time after all others. */
export function witnessing<K extends Witnessed['kind']>(
  kind: K,
  next: (row: Extract<Witnessed, { kind: K }>, late: { n: number; atMs: number }) => Witnessed[],
  matches: (row: Extract<Witnessed, { kind: K }>) => boolean = () => true,
): Lie['tell'] {
  return (run, pick) => {
    const { witnessed } = run.final
    const row = pick(witnessed.filter(isKind(kind)).filter(matches))
    const late = { n: witnessed.length + 1, atMs: (witnessed.at(-1)?.atMs ?? 0) + DAY }
    const changed = exchanged<Witnessed>(witnessed, row, ...next(row, late))
    return withFinal(run, { witnessed: changed.toSorted((one, other) => one.n - other.n) })
  }
}
