import type { FinalRun, FinalState, WitnessedOrder } from './history.ts'
import type { Violation } from './rules.ts'

/** Each order ends once, its run counts it once, and a slot has one run. */
export function checkOrders({ witnessed, runs }: FinalState): Violation[] {
  const orders = witnessed.filter((row): row is WitnessedOrder => row.kind === 'order')
  const perOrder = Map.groupBy(orders, ({ run, profileId }) => `run ${run}, profile ${profileId}`)
  const perRun = Map.groupBy(orders, ({ run }) => run)
  return [
    ...[...perOrder].flatMap(([name, steps]) => checkOrder(name, steps)),
    ...runs.flatMap((run) => checkRun(run, perRun.get(run.run) ?? [])),
    ...checkSlots(runs),
  ]
}

function checkOrder(text: string, steps: readonly WitnessedOrder[]): Violation[] {
  const ends = steps.filter(({ ended }) => ended).length
  if (ends > 1 || steps.length - ends > 1) return [{ rule: 'order ended twice', text }]
  return ends === 0 ? [{ rule: 'order never ended', text }] : []
}

function checkRun({ run, state, enqueued, ended }: FinalRun, orders: readonly WitnessedOrder[]): Violation[] {
  const text = `run ${run} is ${state}: ${enqueued} enqueued, ${ended} ended`
  if (state !== 'done') return [{ rule: 'run never ended', text }]
  const ends = orders.filter((order) => order.ended).length
  return ended === ends && enqueued === ends ? [] : [{ rule: 'run miscounted', text: `${text}, ${ends} orders` }]
}

function checkSlots(runs: readonly FinalRun[]): Violation[] {
  const slots = Map.groupBy(
    runs.filter(({ slotAt }) => slotAt !== null),
    ({ kind, slotAt }) => `${kind} ${slotAt}`,
  )
  return [...slots].flatMap(([text, its]): Violation[] => (its.length > 1 ? [{ rule: 'slot taken twice', text }] : []))
}
