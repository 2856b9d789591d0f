import type { Run, Runs } from '../warehouse/runs/stored-runs.ts'
import type { Backlog, Producer } from './producer.ts'

export type RecoverContext = {
  readonly runs: Pick<Runs, 'listUnproduced' | 'listSilent' | 'listOpenOrders' | 'end'>
  readonly producers: readonly Producer[]
  readonly backlog: (lane: Producer['lane']) => Promise<Backlog>
  readonly produce: (run: Run) => Promise<unknown>
}

/**
 * Recovers the runs that showed no life for `idleMs`: a run whose producer died is produced further, from the page it had
 * reached; a run that was enqueued in full is recovered as `recoverRun` does. Each lane is looked at once, before anything
 * is enqueued: all runs that lost their jobs together are recovered together, and not one with every call.
 */
export async function recoverRuns(context: RecoverContext, idleMs: number): Promise<void> {
  const backlog = askOnce(context.backlog)
  for (const run of await context.runs.listSilent(idleMs)) await recoverRun({ ...context, backlog }, run)
  for (const run of await context.runs.listUnproduced(idleMs)) await context.produce(run)
}

function askOnce<K, V>(ask: (key: K) => Promise<V>): (key: K) => Promise<V> {
  const answers = new Map<K, V>()
  return async (key) => {
    const answer = answers.get(key) ?? (await ask(key))
    answers.set(key, answer)
    return answer
  }
}

/**
 * Enqueues the open orders of a run again when its lane is empty: then the queue has lost their jobs, as after it was
 * emptied by force. A run without open orders has ended. A run that is still being produced is left alone: it may have no
 * open order only because its producer has recorded none yet.
 */
export async function recoverRun(context: RecoverContext, run: Run): Promise<void> {
  if (!run.enqueuedAll) return
  const producer = context.producers.find(({ name }) => name === run.kind)
  if (producer && !isEmpty(await context.backlog(producer.lane))) return
  const { orders } = await context.runs.listOpenOrders(run.id, '0', 1)
  if (producer && orders.length > 0) await context.produce(run)
  else await context.runs.end(run.id, 'done')
}

const isEmpty = ({ waiting, active, delayed }: Backlog): boolean => waiting + active + delayed === 0
