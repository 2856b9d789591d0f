import { expect } from 'vitest'
import { z } from 'zod'
import { createLog } from '../../../src/base/log.ts'
import { ABORT_TIMEOUT_MS } from '../../../src/pipeline/queue/job-timeout.ts'
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
  const heeding: Job = {
    ...stuck,
    name: 'heeding',
    run: (_, { signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  }
  const workers = startWorkers({
    engine: pipeline.engine,
    parts: [0],
    jobs: [stuck, heeding],
    concurrency: { nightly: 1, manual: 1, backfill: 1 },
    context: pipeline.context,
    onAttempt: async (attempt) => void attempts.push(attempt),
    onPause: () => undefined,
    leaseMs: 30_000,
    log: createLog({ level: 'silent' }),
  })
  try {
    for (const [name, profileId] of [
      ['stuck', '1'],
      ['heeding', '2'],
    ] as const)
      await pipeline.engine.queue('manual').add(name, { runId: '1', profileId, params: {} }, { attempts: 1 })

    await expect.poll(() => attempts, soon).toHaveLength(2)
    expect(attempts).toMatchObject([
      { job: 'stuck', outcome: 'failed' },
      { job: 'heeding', outcome: 'failed' },
    ])
    expect(attempts[1]?.durationMs).toBeLessThan(ABORT_TIMEOUT_MS)
    expect(workers.ended()).toBeGreaterThanOrEqual(1)
  } finally {
    await workers.close(0)
  }
})
