import { expect } from 'vitest'
import type { LaneTrouble } from '../../../../src/pipeline/fleet/lane-troubles.ts'
import { createLiveWorkers } from '../../../../src/pipeline/warehouse/runs/live-workers.ts'
import { test } from '../../../support/test-warehouse.ts'

const trouble = (lane: LaneTrouble['lane'], sinceAt: string): LaneTrouble => ({
  lane,
  reason: 'upstream is away',
  sinceAt,
  untilAt: null,
  attempts: 1,
})

test('the workers of a queue count while they show life, each in the queue that it works on now', async ({
  warehouse: { pool, rows },
}) => {
  const workers = createLiveWorkers({ pool })
  const counts = async () => [await workers.count('one'), await workers.count('other')]
  for (const [id, queue] of [
    ['a', 'one'],
    ['b', 'one'],
    ['c', 'other'],
  ] as const)
    await workers.heartbeat(id, queue, [])
  expect(await counts()).toEqual([2, 1])

  await workers.heartbeat('b', 'other', [])
  expect(await counts()).toEqual([1, 2])
  await workers.remove('b')
  expect(await counts()).toEqual([1, 1])
  await rows(`update vitalsync.workers set seen_at = now() - interval '16 seconds' where id = 'a'`)
  expect(await counts()).toEqual([0, 1])
  await workers.heartbeat('a', 'one', [])
  expect(await counts()).toEqual([1, 1])
})

test('troubles are those of the last heartbeat of workers that live, of a queue or of all, the longest first', async ({
  warehouse: { pool, rows },
}) => {
  const workers = createLiveWorkers({ pool })
  const [early, late] = [trouble('manual', '2026-03-01T00:00:00Z'), trouble('backfill', '2026-03-02T00:00:00Z')]
  const besides = trouble('nightly', '2026-03-02T00:00:00Z')
  await workers.heartbeat('a', 'one', [trouble('nightly', '2026-02-01T00:00:00Z')])
  await workers.heartbeat('a', 'one', [besides, late])
  await workers.heartbeat('b', 'other', [early])
  await workers.heartbeat('c', 'one', [trouble('manual', '2026-01-01T00:00:00Z')])
  await rows(`update vitalsync.workers set seen_at = now() - interval '16 seconds' where id = 'c'`)

  expect(await workers.listTroubles()).toEqual([early, late, besides])
  expect(await workers.listTroubles('one')).toEqual([late, besides])
  expect(await workers.listTroubles('third')).toEqual([])
})
