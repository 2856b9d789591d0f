import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createTimeLeft, type RunProgress } from '../../../src/base/time/time-left.ts'
import { MINUTE, SECOND } from '../../../src/base/time/units.ts'

type SimulatedJob = { readonly items: number }
type Speed = { readonly workers: number; readonly requestMs: number; readonly pullRequests: number }

const POLL_MS = SECOND

type SimulatedRun = { readonly trace: RunProgress[]; readonly endMs: number; readonly longestMs: number }

/** Progress of a run, a sample a second, with the end: `workers` jobs at once, a request after the other in each. */
function simulate(jobs: readonly SimulatedJob[], speed: Speed): SimulatedRun {
  const busyUntil = Array.from({ length: speed.workers }, () => 0)
  const spans = jobs.map(({ items }) => {
    const worker = busyUntil.indexOf(Math.min(...busyUntil))
    const startMs = busyUntil[worker] ?? 0
    const pushedMs = startMs + Math.ceil(items / 90) * speed.requestMs
    const endMs = pushedMs + speed.pullRequests * speed.requestMs
    busyUntil[worker] = endMs
    return { items, startMs, pushedMs, endMs }
  })
  const endMs = Math.max(...busyUntil)
  const trace: RunProgress[] = []
  for (let atMs = 0; atMs < endMs; atMs += POLL_MS) trace.push(progressAt(spans, atMs))
  return { trace, endMs, longestMs: Math.max(...spans.map((span) => span.endMs - span.startMs)) }
}

type JobSpan = { items: number; startMs: number; pushedMs: number; endMs: number }

function progressAt(spans: readonly JobSpan[], atMs: number): RunProgress {
  const pushed = ({ items, startMs, pushedMs }: JobSpan) =>
    items === 0 ? 0 : Math.floor(items * Math.min(1, Math.max(0, atMs - startMs) / (pushedMs - startMs)))
  const itemsDone = spans.reduce((sum, span) => sum + pushed(span), 0)
  const open = spans.filter((span) => span.endMs > atMs)
  return {
    atMs,
    jobsDone: spans.length - open.length,
    itemsDone,
    jobsLeft: open.length,
    itemsLeft: spans.reduce((sum, { items }) => sum + items, 0) - itemsDone,
    itemsOfLongestJob: Math.max(0, ...open.map((span) => span.items - pushed(span))),
    jobsAtOnce: open.filter((span) => span.startMs <= atMs).length,
  }
}

/**
 * The worst factor by which an estimate was off, from the first minute to the end. Nothing is known of how far a job is with
 * its reading, so an error of a job's duration is allowed.
 */
function worstFactor({ trace, endMs, longestMs }: SimulatedRun): number {
  const timeLeft = createTimeLeft()
  let worst = 1
  for (const progress of trace) {
    const leftMs = endMs - progress.atMs
    const estimatedMs = timeLeft.estimate(progress) ?? 0
    const allowedMs = Math.min(20 * SECOND, longestMs)
    if (progress.atMs < MINUTE || leftMs < 20 * SECOND) continue
    const factor = Math.max((estimatedMs - allowedMs) / leftMs, (leftMs - allowedMs) / Math.max(1, estimatedMs))
    worst = Math.max(worst, factor)
  }
  return worst
}

test('a night as it was: 539,146 logs of 1,000 people in 26 minutes are never said to take hours', () => {
  const jobs = Array.from({ length: 1000 }, (_, index) => ({ items: 539 + (index < 146 ? 1 : 0) }))
  // All of the first jobs push for long before one of them ends.
  const slow = { workers: 128, requestMs: 12_000, pullRequests: 8 }
  const run = simulate(jobs, slow)

  expect(run.endMs / MINUTE).toBeGreaterThan(20)
  expect(worstFactor(run)).toBeLessThan(2)
})

test('after the first minute an estimate is within a factor of two, whatever the weights and the order of the jobs', () => {
  const sizes = fc.array(
    fc.oneof(
      { weight: 5, arbitrary: fc.integer({ min: 0, max: 500 }) },
      { weight: 2, arbitrary: fc.integer({ min: 0, max: 20_000 }) },
    ),
    { minLength: 400, maxLength: 800, size: 'max' },
  )
  const order = fc.constantFrom('as they come', 'heavy first', 'heavy last')
  const workers = fc.constantFrom(1, 8, 32)
  fc.assert(
    fc.property(sizes, order, workers, fc.integer({ min: 6, max: 16 }), (items, ordered, atOnce, pullRequests) => {
      const sorted = items.toSorted((a, b) => a - b)
      const inOrder = ordered === 'as they come' ? items : ordered === 'heavy last' ? sorted : sorted.toReversed()
      const requests = items.reduce((sum, size) => sum + Math.ceil(size / 90) + pullRequests, 0)
      // Ten minutes of work in all, if it spreads evenly.
      const requestMs = (10 * MINUTE * atOnce) / requests
      const run = simulate(
        inOrder.map((size) => ({ items: size })),
        { workers: atOnce, requestMs, pullRequests },
      )
      expect(worstFactor(run)).toBeLessThan(2)
    }),
    { numRuns: 30, seed: 14, endOnFailure: true },
  )
})

test('nothing is said before there is anything to go by, nor while nothing moves', () => {
  const timeLeft = createTimeLeft()
  const still = { jobsDone: 0, itemsDone: 0, jobsLeft: 5, itemsLeft: 100, itemsOfLongestJob: 50, jobsAtOnce: 5 }

  expect(timeLeft.estimate({ ...still, atMs: 0 })).toBeUndefined()
  expect(timeLeft.estimate({ ...still, atMs: 5000 })).toBeUndefined()
  expect(timeLeft.estimate({ ...still, atMs: 9000, itemsDone: 10, itemsLeft: 90 })).toBeGreaterThan(0)
})

test('nothing is said while no job was ever seen at work', () => {
  const timeLeft = createTimeLeft()
  const unseen = { itemsDone: 0, itemsLeft: 0, itemsOfLongestJob: 0, jobsAtOnce: 0 }

  expect(timeLeft.estimate({ ...unseen, atMs: 0, jobsDone: 0, jobsLeft: 500 })).toBeUndefined()
  expect(timeLeft.estimate({ ...unseen, atMs: 2000, jobsDone: 20, jobsLeft: 480 })).toBeUndefined()
})
