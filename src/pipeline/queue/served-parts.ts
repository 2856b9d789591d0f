import { type Finding, well, wrong } from '../../base/connections/finding.ts'
import { formatPartList, QUEUE_PARTS_MAX } from '../fleet/queue-parts.ts'
import { openQueueEngine, type QueueEngine } from './engine.ts'
import { partsInUse } from './queues-in-use.ts'

/**
 * The parts in use on which no process works. The engine knows it from its connections, without delay: a worker of a part has a
 * connection for each lane. With one part the answer is empty: each worker works on it.
 */
export async function findUnservedParts(engine: QueueEngine): Promise<number[]> {
  const parts = await partsInUse(engine)
  if (parts.length === 1) return []
  const served = await findServedParts(engine, parts)
  return parts.filter((part) => !served.includes(part))
}

async function findServedParts(engine: QueueEngine, parts: readonly number[]): Promise<number[]> {
  const isServed = await Promise.all(parts.map((part) => engine.hasWorker(part)))
  return parts.filter((_, index) => isServed[index])
}

/** Examines whether every part of the queue has a worker, and whether another process has other parts. Changes nothing. */
export async function examineParts(subject: string, queueUrl: string, parts: number): Promise<Finding[]> {
  const engine = await openQueueEngine(queueUrl, { parts, isObserver: true })
  try {
    const former = await engine.formerParts()
    const all = Array.from({ length: QUEUE_PARTS_MAX }, (_, part) => part)
    const served = await findServedParts(engine, all)
    const foreign = served.filter((part) => part >= parts && !former.includes(part))
    const unserved = all.slice(0, parts).filter((part) => !served.includes(part))
    return [
      ...(parts > 1 ? [servedFinding(subject, parts, unserved)] : []),
      ...(former.length > 0 ? [formerFinding(subject, parts, former)] : []),
      ...(foreign.length > 0 ? [foreignFinding(subject, parts, foreign)] : []),
    ]
  } finally {
    await engine.close()
  }
}

function servedFinding(subject: string, parts: number, unserved: readonly number[]): Finding {
  if (unserved.length === 0) return well(subject, `each of its ${parts} parts has a worker`)
  if (unserved.length === parts) return { subject, state: 'note', text: `none of its ${parts} parts has a worker now` }
  const list = formatPartList(unserved)
  const hint = `Start one: vitalsync worker --parts ${list}. A worker with a smaller QUEUE_PARTS leaves them out: give all the same.`
  return wrong(subject, `parts ${list} of ${parts} have no worker`, hint)
}

const SAME_HINT =
  'Give every process the same QUEUE_PARTS. After a change this passes by itself once the jobs are done.'

function formerFinding(subject: string, parts: number, former: readonly number[]): Finding {
  const text = `jobs wait in parts ${formatPartList(former)}, beyond QUEUE_PARTS=${parts}`
  return wrong(subject, text, SAME_HINT)
}

function foreignFinding(subject: string, parts: number, foreign: readonly number[]): Finding {
  const text = `a worker has parts ${formatPartList(foreign)}, beyond QUEUE_PARTS=${parts}`
  return wrong(subject, text, SAME_HINT)
}
