import { expect, onTestFinished, test } from 'vitest'
import { noCounts } from '../../../src/pipeline/transfer/order.ts'
import { createJobMetrics, type JobAttempt } from '../../../src/pipeline/work/outcome.ts'
import { openTestMeter } from '../../support/test-meter.ts'

test('each attempt is counted by job, lane and outcome, timed in seconds, and adds what was refused and pushed', async () => {
  const { points, close } = openTestMeter()
  onTestFinished(close)
  const count = createJobMetrics()
  const attempt: JobAttempt = {
    runId: '1',
    profileId: '7',
    job: 'sync-profile',
    params: {},
    begunAtMs: 0,
    lane: 'nightly',
    outcome: 'done',
    error: undefined,
    isPause: false,
    durationMs: 1500,
    counts: noCounts,
  }
  count(attempt)
  count({ ...attempt, counts: { ...noCounts, refused: 2, itemsPushed: 5 } })
  count({ ...attempt, outcome: 'failed', job: 'erase-profile' })

  const of = { job: 'sync-profile' }
  expect(await points('vitalsync.jobs')).toEqual([
    [{ ...of, lane: 'nightly', outcome: 'done' }, 2],
    [{ job: 'erase-profile', lane: 'nightly', outcome: 'failed' }, 1],
  ])
  expect(await points('vitalsync.job.duration')).toMatchObject([
    [of, { sum: 3, count: 2 }],
    [{ job: 'erase-profile' }, { sum: 1.5 }],
  ])
  expect(await points('vitalsync.refused')).toEqual([[of, 2]])
  expect(await points('vitalsync.items.pushed')).toEqual([[{}, 5]])
})
