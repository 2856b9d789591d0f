import type { DueWindow } from '../../../src/pipeline/transfer/reading.ts'
import type { ModelPlan } from '../../simulation/planning.ts'

const shownDue = ({ stream, window, generation, heldTag }: DueWindow) => [stream.name, window, generation, heldTag]

const shownPlan = ({ profile, due }: ModelPlan) => ({
  profile: { ...profile, waiting: profile.waiting.map(({ name }) => name) },
  due: due.map(shownDue),
})

/** As much of a result as both have. The counts of an erasure are those of tables. */
export function shownResult(method: string, result: unknown): unknown {
  if (result === undefined || result === null || method === 'erase') return undefined
  if (method === 'plan') return shownPlan(result as ModelPlan)
  if (method === 'readWaiting') return shownWaiting(Object(result).parcels)
  return result
}

const shownWaiting = (parcels: readonly Record<string, unknown>[]) =>
  parcels.map(({ firstEndAtMs, addedMs, takenOut, ...parcel }) => ({
    ...parcel,
    takenOut: [...(takenOut as number[])].sort(),
  }))
