import { EngineUnreachable } from '../errors.ts'
import type { QueueEngine } from '../queue/engine.ts'
import { createEnqueuer } from '../queue/enqueue.ts'
import type { Pool } from '../warehouse/pool.ts'
import { type Closing, openClosing } from './closing.ts'
import { type CommandContext, type Engines, joinEngines, joinWarehouse } from './engines.ts'
import { openPipeline, type Pipeline } from './pipeline.ts'

/** Runs `work` with the warehouse open, and closes it whatever happens. */
export async function withWarehouse<T>(
  context: CommandContext,
  work: (pool: Pool, more: { queueUrl: string; closing: Closing }) => Promise<T>,
): Promise<T> {
  const closing = openClosing()
  try {
    const { pool, queueUrl } = await joinWarehouse(context, closing)
    return await work(pool, { queueUrl, closing })
  } finally {
    await closing.close()
  }
}

/** A command does not wait for a queue that is not there, as a worker does. */
export async function requireQueue(engine: QueueEngine): Promise<void> {
  await createEnqueuer(engine)
    .backlog('manual')
    .catch((cause: Error) => {
      throw new EngineUnreachable(`reach the queue: ${cause.message}`, {
        hint: 'Check QUEUE_URL and that the server is running; `vitalsync doctor` tries every connection.',
        cause,
      })
    })
}

export type Opened = Engines & {
  readonly pipeline: Pipeline
  readonly closing: Closing
  /** Aborted by Ctrl-C, or by what makes going on pointless. */
  readonly signal: AbortSignal
  /** Ends the work with this reason. */
  fail(error: Error): void
}

/** Runs `work` with everything open: warehouse, queue and upstream, joined where they run and started where they do not. */
export async function withPipeline<T>(context: CommandContext, work: (opened: Opened) => Promise<T>): Promise<T> {
  const closing = openClosing()
  const stop = new AbortController()
  const fail = (error: Error) => stop.abort(error)
  try {
    const engines = await joinEngines(context, closing)
    const { config, log } = context
    const pipeline = await openPipeline({ config, addresses: engines.addresses, log, onSkewed: fail })
    closing.add(pipeline, 'pipeline')
    await requireQueue(pipeline.engine)
    return await work({
      ...engines,
      pipeline,
      closing,
      signal: AbortSignal.any([context.signal, stop.signal]),
      fail,
    })
  } catch (error) {
    throw stop.signal.aborted ? stop.signal.reason : error
  } finally {
    await closing.close()
  }
}
