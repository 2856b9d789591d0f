import type { Lane } from '../fleet/budget.ts'
import type { Backlog } from '../work/producer.ts'
import type { LaneQueue, QueueEngine } from './engine.ts'

/** The parts of the queue that there are, and former parts that still hold jobs. */
export const partsInUse = async (engine: QueueEngine): Promise<number[]> => [
  ...Array.from({ length: engine.parts }, (_, part) => part),
  ...(await engine.formerParts()),
]

/** The queues of a lane in all these parts. */
export const queuesInUse = async (engine: QueueEngine, lane: Lane): Promise<LaneQueue[]> =>
  (await partsInUse(engine)).map((part) => engine.queue(lane, part))

/** The jobs of one queue. */
export async function backlogOf(queue: LaneQueue): Promise<Backlog> {
  const counts = await queue.getJobCounts('waiting', 'prioritized', 'active', 'delayed')
  return {
    waiting: (counts['waiting'] ?? 0) + (counts['prioritized'] ?? 0),
    active: counts['active'] ?? 0,
    delayed: counts['delayed'] ?? 0,
  }
}
