import { expect } from 'vitest'
import { createLog } from '../../src/base/log.ts'
import { HOUR } from '../../src/base/time/units.ts'
import { type Scheduler, startScheduler } from '../../src/pipeline/schedule/scheduler.ts'
import type { Schedule } from '../../src/pipeline/schedule/timetable.ts'
import type { Run } from '../../src/pipeline/warehouse/runs/stored-runs.ts'
import { test, type Warehouse } from '../support/test-warehouse.ts'

const nightly: Schedule = { name: 'nightly', cron: '30 2 * * *', timeZone: 'Europe/Berlin', makeUpMs: 25 * HOUR }
const log = createLog({ level: 'silent' })

/** Starts several schedulers at one moment, and returns the slots that they produced until all had stopped. */
async function slotsAt({ runs }: Warehouse, now: string, schedulers: number): Promise<unknown[]> {
  const produced: Run[] = []
  const options = {
    schedules: [nightly],
    runs,
    now: () => Date.parse(now),
    produce: async (run: Run) => void produced.push(run),
    recoverRuns: async () => undefined,
    log,
  }
  const started: Scheduler[] = await Promise.all(Array.from({ length: schedulers }, () => startScheduler(options)))
  await Promise.all(started.map((scheduler) => scheduler.close()))
  return produced.map((run) => run.params['slotAt'])
}

test('of any number of schedulers one takes a slot, and a restart takes it no second time', async ({ warehouse }) => {
  expect(await slotsAt(warehouse, '2026-03-10T01:30:20Z', 4)).toEqual(['2026-03-10T01:30:00Z'])
  expect(await slotsAt(warehouse, '2026-03-10T01:30:40Z', 2)).toEqual([])
})

test('a missed slot is made up once, and the nights before it are not', async ({ warehouse }) => {
  await slotsAt(warehouse, '2026-03-10T01:30:20Z', 1)

  expect(await slotsAt(warehouse, '2026-03-14T09:00:00Z', 3)).toEqual(['2026-03-14T01:30:00Z'])
  expect(await slotsAt(warehouse, '2026-03-14T09:05:00Z', 3)).toEqual([])
})

test('where there never was a slot, none was missed', async ({ warehouse }) => {
  expect(await slotsAt(warehouse, '2026-03-14T09:00:00Z', 2)).toEqual([])
})

test('the night that skips the hour has its nightly, and the one that repeats it has one', async ({ warehouse }) => {
  await slotsAt(warehouse, '2026-03-28T01:30:20Z', 1)
  expect(await slotsAt(warehouse, '2026-03-29T05:00:00Z', 2)).toEqual(['2026-03-29T01:00:00Z'])

  expect(await slotsAt(warehouse, '2026-10-25T00:30:10Z', 2)).toEqual(['2026-10-25T00:30:00Z'])
  expect(await slotsAt(warehouse, '2026-10-25T01:30:10Z', 2)).toEqual([])
  expect(await slotsAt(warehouse, '2026-10-25T09:00:00Z', 2)).toEqual([])
})
