import {
  type ConnectionOptions,
  createPostgresBackend,
  type IQueueBackend,
  type Job,
  type JobProgress,
  type RedisQueueBackend,
  Worker,
} from 'bullmq'
import { sleep } from '../../base/sleep.ts'
import { SECOND } from '../../base/time/units.ts'

/**
 * BullMQ asks Postgres at the first use of each queue and worker whether the tables are there, and keeps the answer as long as the process
 * lives, also the error of a server that was full or slow at that moment. `runMigrations` has made the tables before.
 */
export const createBackend: typeof createPostgresBackend = (name, options, given) => {
  const backend = createPostgresBackend(name, options, given)
  backend.connection.waitUntilReady = () => Promise.resolve()
  return backend
}

export type ProcessJob<D> = (job: Job<D>, token?: string, signal?: AbortSignal) => Promise<unknown>

/** BullMQ gives a signal only to a function that declares three parameters. */
export const withAllArguments =
  <D>(work: ProcessJob<D>): ProcessJob<D> =>
  (job, token, signal) =>
    work(job, token, signal)

const REST_MS = 2 * SECOND

/**
 * A worker that rests after a failed claim. BullMQ claims again at once: from a server that refuses, thousands of times a second; and where
 * no server is asked, without a turn of the event loop, so that no timer, no answer and no signal reaches the process any more.
 */
export class RestingWorker<D, B extends IQueueBackend = RedisQueueBackend, C = ConnectionOptions> extends Worker<
  D,
  unknown,
  string,
  B,
  JobProgress,
  C
> {
  private rested: Promise<void> = Promise.resolve()
  private readonly stop = new AbortController()

  protected override async moveToActive(token: string, name?: string): Promise<Job<D, unknown>> {
    await this.rested
    if (this.closing) throw new Error('claim a job: the worker is closing')
    return super.moveToActive(token, name).catch((error: unknown) => {
      this.rested = sleep(REST_MS, this.stop.signal).catch(() => undefined) // it closes: nothing more is claimed
      throw error
    })
  }

  override close(force?: boolean): Promise<void> {
    this.stop.abort()
    return super.close(force)
  }
}
