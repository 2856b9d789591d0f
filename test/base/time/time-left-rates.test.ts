import { expect, test } from 'vitest'
import { createTimeLeft, type RunProgress } from '../../../src/base/time/time-left.ts'
import { SECOND } from '../../../src/base/time/units.ts'

/** A job counts as ten requests, half of them done while it runs, and 90 items as one. */
const startMs = Date.parse('2026-03-10T00:00:00Z')
const nothing = { jobsDone: 0, itemsDone: 0, jobsLeft: 10, itemsLeft: 9000, itemsOfLongestJob: 900, jobsAtOnce: 2 }
const second = { jobsDone: 1, itemsDone: 900, jobsLeft: 9, itemsLeft: 8100, itemsOfLongestJob: 900, jobsAtOnce: 2 }
/** Two jobs at once for ten seconds: 30 requests, ten of them by halves of running jobs. */
const perJobMs = 30 / 20_000

/** The estimates of looks that follow one another, a number of seconds after the start. */
function estimates(...looks: Array<[afterSeconds: number, progress: Partial<RunProgress>]>) {
  const timeLeft = createTimeLeft()
  return looks.map(([after, progress]) =>
    timeLeft.estimate({ ...nothing, ...progress, atMs: startMs + after * SECOND }),
  )
}
const lastOf = (...looks: Parameters<typeof estimates>) => estimates(...looks).at(-1)

test('all jobs that run share the work that is left', () => {
  expect(lastOf([0, {}], [10, second])).toBeCloseTo((90 + 90 - 10) / 2 / perJobMs, 6)
  expect(lastOf([0, {}], [10, { ...second, jobsAtOnce: 4 }])).toBeCloseTo((90 + 90 - 20) / 4 / (40 / 40_000), 6)
})

test('the longest job does its items alone, however many run', () => {
  expect(lastOf([0, {}], [10, { ...second, itemsOfLongestJob: 8100 }])).toBeCloseTo((10 + 90 - 5) / perJobMs, 6)
})

test('while no job runs, the time left is estimated for one job at a time', () => {
  const later = { ...second, jobsAtOnce: 0 }
  expect(lastOf([0, {}], [10, second], [20, later])).toBeCloseTo((90 + 90) / (20 / 20_000), 6)
})

test('no work is left of a job that runs and has pushed its items: the estimate is its own half, not less than nothing', () => {
  const last = { ...second, jobsLeft: 1, itemsLeft: 0, itemsOfLongestJob: 0, jobsAtOnce: 4 }
  expect(lastOf([0, {}], [10, last])).toBeCloseTo((10 - 5) / (40 / 40_000), 6)
})

test('a run without jobs left takes no time, also at the first look', () => {
  expect(estimates([0, { jobsLeft: 0 }], [10, { ...second, jobsLeft: 0 }])).toEqual([0, 0])
})

test('nothing is said at the first look, before the first job or item, and where nothing was done', () => {
  expect(estimates([0, second], [10, { ...nothing, itemsDone: 1 }])[0]).toBeUndefined()
  expect(lastOf([0, {}], [10, {}])).toBeUndefined()
  expect(lastOf([0, {}], [10, { itemsDone: 1 }])).toBeGreaterThan(0)
  expect(lastOf([0, {}], [10, { jobsDone: 1 }])).toBeGreaterThan(0)
  // A count that fell by as much as the half job is worth: no rate, and no endless time.
  expect(lastOf([0, { jobsDone: 1 }], [10, { itemsDone: 450, jobsAtOnce: 1 }])).toBeUndefined()
})

/** Items of a run that works at a tenth of a request a second for 120 seconds, then at one request a second. */
const itemsAt = (after: number) => 9 * Math.min(after, 120) + 90 * Math.max(0, after - 120)
const requestsBetween = (from: number, to: number) => (itemsAt(to) - itemsAt(from)) / 90
const left = 10 + 100 - 5

/** The last of many looks, `everySeconds` apart. */
function estimateAfter(seconds: number, { jobsDone = 2, everySeconds = 1 } = {}) {
  const looks = Array.from({ length: Math.floor(seconds / everySeconds) + 1 }, (_, index) => index * everySeconds)
  return lastOf(
    ...looks.map((after): [number, Partial<RunProgress>] => [
      after,
      { jobsDone, itemsDone: itemsAt(after), jobsLeft: 1, itemsLeft: 9000, itemsOfLongestJob: 0, jobsAtOnce: 1 },
    ]),
  )
}

test.for([
  [240, 120],
  [239, 119],
  [300, 150],
  [160, 80],
  [130, 65],
  [121, 60],
  [119, 59],
  [100, 40],
] as const)('after %i s the rate is that of the last half, a minute at least: from %i s on', ([at, from]) => {
  expect(estimateAfter(at)).toBeCloseTo(left / (requestsBetween(from, at) / (at - from) / SECOND), 4)
})

test('the rate is that of the whole run for its first minute, and until two rounds of jobs have ended', () => {
  // The first look counts no half of a job.
  const whole = (at: number) => left / ((requestsBetween(0, at) + 5) / at / SECOND)
  expect(estimateAfter(59)).toBeCloseTo(whole(59), 4)
  expect(estimateAfter(240, { jobsDone: 1 })).toBeCloseTo(whole(240), 4)
})

test('of several looks in one second the first is kept', () => {
  // Looks every 0.7 s: kept are those at 0, 1.4, 2.8 s and so on.
  const [at, from] = [343 * 0.7, 85 * 1.4]
  expect(estimateAfter(at + 0.01, { everySeconds: 0.7 })).toBeCloseTo(
    left / (requestsBetween(from, at) / (at - from) / SECOND),
    3,
  )
})

test('over hours the rate is still that of the last half, within one in a hundred', () => {
  const timeLeft = createTimeLeft()
  // The rate grows all the time: a sample that was taken too soon or too late shows.
  const doneAt = (after: number) => (after * after) / 1000
  for (let after = 0; after <= 10_000; after += 1) {
    const estimated = timeLeft.estimate({
      ...{ jobsDone: 2, jobsLeft: 1, itemsLeft: 9000, itemsOfLongestJob: 0, jobsAtOnce: 1 },
      atMs: startMs + after * SECOND,
      itemsDone: doneAt(after) * 90,
    })
    if (after < 200) continue
    const rate = (doneAt(after) - doneAt(after / 2)) / (after / 2) / SECOND
    const factor = (estimated ?? 0) / (left / rate)
    if (!(Math.abs(factor - 1) < 0.01)) expect.fail(`after ${after} s the estimate is off by the factor ${factor}`)
  }
})

test('with four jobs at once two rounds are eight jobs', () => {
  const of = (jobsDone: number) =>
    lastOf(
      ...Array.from({ length: 241 }, (_, after): [number, Partial<RunProgress>] => [
        after,
        { jobsDone, itemsDone: itemsAt(after), jobsLeft: 1, itemsLeft: 9000, itemsOfLongestJob: 0, jobsAtOnce: 4 },
      ]),
    )

  expect(of(8)).toBeCloseTo((90 * 120 * SECOND) / requestsBetween(120, 240), 4)
  expect(of(7)).toBeCloseTo((90 * 240 * SECOND) / (requestsBetween(0, 240) + 20), 4)
})
