import { z } from 'zod'
import type { PulledStream } from '../../pipeline/transfer/stream.ts'
import type { ContractReport, PointReport, PointState } from './examine-contract.ts'
import { changesOfShape } from './stream-shapes.ts'

const lists = z.record(z.string(), z.array(z.string()))

/** The form of the file of `--save`. */
const savedContractSchema = z.object({
  version: z.literal(1),
  savedAt: z.string(),
  points: z.array(z.object({ point: z.string(), state: z.string(), says: z.array(z.string()) })),
  shapes: z.record(
    z.string(),
    z.object({ records: z.boolean(), fields: lists, words: lists, units: z.record(z.string(), z.string()) }),
  ),
})

type SavedContract = z.infer<typeof savedContractSchema>

export function savedContractOf({ points, shapes }: ContractReport, savedAt: Date): string {
  const saved = {
    version: 1,
    savedAt,
    points: points.map(({ point, state, says }) => ({ point, state, says })),
    shapes,
  }
  return `${JSON.stringify(saved, null, 1)}\n`
}

/** Undefined when the text is no saved contract. */
export function parseSavedContract(value: unknown): SavedContract | undefined {
  return savedContractSchema.safeParse(value).data
}

export type ContractChange = { readonly subject: string; readonly state: PointState; readonly says: string }

/** The changes since the contract was saved. A point that only one of the two examinations saw has not changed. */
export function changesSince(
  saved: SavedContract,
  { points, shapes }: ContractReport,
  streams: readonly PulledStream[],
): readonly ContractChange[] {
  const before = new Map(saved.points.map((point) => [point.point, point]))
  const changedPoints = points.flatMap((now) => {
    const then = before.get(now.point)
    if (then === undefined || then.state === 'unseen' || now.state === 'unseen' || isSame(then, now)) return []
    return [{ subject: now.point, state: now.state, says: now.says.join('; ') || 'as the specification says again' }]
  })
  const changedShapes = streams.flatMap((stream) => {
    const [then, now] = [saved.shapes[stream.name], shapes[stream.name]]
    const differences = then && now ? changesOfShape(stream, then, now) : []
    return differences.map(({ severity, says }) => ({ subject: `${stream.name}: records`, state: severity, says }))
  })
  return [...changedPoints, ...changedShapes]
}

const isSame = (then: Pick<SavedContract['points'][number], 'state' | 'says'>, now: PointReport) =>
  then.state === now.state && then.says.join() === now.says.join()
