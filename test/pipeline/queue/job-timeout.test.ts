import { expect } from 'vitest'
import { z } from 'zod'
import { createLog } from '../../../src/base/log.ts'
import { startWorkers } from '../../../src/pipeline/queue/job-workers.ts'
import type { Job } from '../../../src/pipeline/work/job.ts'
import type { JobAttempt } from '../../../src/pipeline/work/outcome.ts'
import { soon } from '../../support/fixtures.ts'
import { test } from '../../support/test-pipeline.ts'

test('a job that ignores its timeout is ended, and the worker goes on', async ({ open }) => {
  const { pipeline } = await open('postgres')
  const attempts: JobAttempt[] = []
  const stuck: Job = {
    name: 'stuck',
    payload: z.unknown(),
    attemptsMax: 1,
    timeoutMs: 50,
    run: () => new Promise(() => undefined),
  }
  const workers = startWorkers({
    engine: pipeline.engine,
    parts: [0],
    jobs: [stuck],
    concurrency: { nightly: 1, manual: 1, backfill: 1 },
    context: pipeline.context,
    onAttempt: async (attempt) => void attempts.push(attempt),
    onPause: () => undefined,
    leaseMs: 30_000,
    log: createLog({ level: 'silent' }),
  })
  try {
    for (const profileId of ['1', '2'])
      await pipeline.engine.queue('manual').add('stuck', { runId: '1', profileId, params: {} }, { attempts: 1 })

    await expect.poll(() => attempts, soon).toHaveLength(2)
    expect(attempts).toMatchObject([{ outcome: 'failed' }, { outcome: 'failed' }])
    expect(workers.ended()).toBeGreaterThanOrEqual(1)
  } finally {
    await workers.close(0)
  }
})
