import { expect, test } from 'vitest'
import { MINUTE, SECOND } from '../../src/base/time/units.ts'
import { createLeftWatch, runProgressText } from '../../src/operations/follow-run.ts'
import { PartialOutage } from '../../src/pipeline/warehouse/postgres/sql-errors.ts'
import type { Run } from '../../src/pipeline/warehouse/runs/stored-runs.ts'

const jobs = 1000
const runAfter = (done: number): Run => ({
  id: '1',
  kind: 'sync',
  params: {},
  form: 1,
  state: 'running',
  startedAt: new Date(0),
  endedAt: null,
  enqueued: jobs,
  enqueuedAll: true,
  afterId: '0',
  done,
  failed: 0,
  refused: 0,
  requests: 0,
  unchanged: 0,
  rowsRead: 0,
  rowsWritten: 0,
  itemsPushed: 0,
  itemsPushedElsewhere: 0,
})

/** Follows a run with one job a second, at a clock of its own. */
function openWatch() {
  let nowMs = 0
  let questionMs = 0
  let isAway = false
  const run = () => runAfter(Math.floor(nowMs / SECOND))
  const workLeft = async ({ done }: Run) => {
    nowMs += questionMs
    if (isAway) throw new PartialOutage('reach people')
    return { jobs: jobs - done, items: 0, itemsOfLongestJob: 0 }
  }
  const backlog = async () => ({ waiting: 0, active: 1, delayed: 0 })
  const leftMs = createLeftWatch({ runs: { workLeft }, queue: { backlog } }, 'nightly', () => nowMs)
  return {
    leftAfter: (ms: number, question: { takesMs?: number; fails?: boolean } = {}) => {
      nowMs += ms
      questionMs = question.takesMs ?? 0
      isAway = question.fails ?? false
      return leftMs(run())
    },
  }
}

test('the time left runs down while the next answer is minutes away', async () => {
  const { leftAfter } = openWatch()
  await leftAfter(0)
  await leftAfter(10 * SECOND, { takesMs: 5 * SECOND })
  const left = (await leftAfter(0)) ?? 0
  expect(left).toBeGreaterThan(10 * MINUTE)

  expect(await leftAfter(3 * MINUTE)).toBe(left - 3 * MINUTE)
})

test('where the last question failed nothing is known until the next answer', async () => {
  const { leftAfter } = openWatch()
  await leftAfter(0)
  expect(await leftAfter(10 * SECOND)).toBeGreaterThan(10 * MINUTE)

  expect(await leftAfter(10 * SECOND, { takesMs: 20 * SECOND, fails: true })).toBeUndefined()
  expect(await leftAfter(10 * SECOND)).toBeUndefined()
  expect(await leftAfter(17 * MINUTE)).not.toBeUndefined()
})

test.for([
  [{ enqueued: 0, enqueuedAll: false }, 'looking for profiles that are due'],
  [{ enqueued: 0, enqueuedAll: true }, 'no profile is due'],
  [{ enqueued: 1000, enqueuedAll: false, done: 3 }, '3/1,000+ profiles'],
  [{ enqueued: 1200, enqueuedAll: true, done: 3, failed: 1 }, '4/1,200 profiles · 1 failed'],
] as const)('the progress of a run says how many profiles are known so far: %j', ([counts, begins]) => {
  const text = runProgressText({ ...runAfter(0), ...counts }, { elapsedMs: SECOND, leftMs: undefined, jobs: 0 })

  expect(text.startsWith(`${begins} · `), text).toBe(true)
})

test('the progress of a run names the jobs of other runs, which may go first', () => {
  const textOf = (jobs: number) => runProgressText(runAfter(400), { elapsedMs: SECOND, leftMs: undefined, jobs })

  expect(textOf(660)).toContain('400/1,000 profiles · 60 jobs of other runs waiting too · ')
  expect(textOf(600)).not.toContain('other runs')
})
