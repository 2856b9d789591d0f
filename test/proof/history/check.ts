import { checkErasures } from './check-erasures.ts'
import { checkOrders } from './check-orders.ts'
import { checkPushes } from './check-pushes.ts'
import { checkReadBack } from './check-read-back.ts'
import { checkReadings } from './check-readings.ts'
import { checkTokens } from './check-tokens.ts'
import { eventsOf, type RunSeen, type Violation } from './rules.ts'

/** Everything in a run that breaks a promise. Pure: the same run has the same violations. */
export function check(run: RunSeen): Violation[] {
  return [
    ...checkPushes(run),
    ...checkReadings(run),
    ...checkReadBack(run),
    ...checkOrders(run.final),
    ...checkTokens(run),
    ...checkErasures(run),
    ...checkFaults(run),
    ...checkRest(run),
  ]
}

/** A fault that never took effect proves nothing. */
function checkFaults({ events }: RunSeen): Violation[] {
  const fired = new Set(eventsOf(events, 'fault').flatMap(({ fault, fired }) => (fired ? [fault] : [])))
  const planned = eventsOf(events, 'plan').flatMap(({ faults }) => faults)
  return planned.filter((fault) => !fired.has(fault)).map((fault) => ({ rule: 'fault never fired', text: fault }))
}

function checkRest({ events }: RunSeen): Violation[] {
  const rest = eventsOf(events, 'rest').at(-1)
  if (rest?.reached) return []
  return [{ rule: 'never at rest', text: rest ? `${rest.left} after ${rest.rounds} rounds` : 'the run was broken off' }]
}
