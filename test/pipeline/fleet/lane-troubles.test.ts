import { expect, test } from 'vitest'
import { createLaneTroubles } from '../../../src/pipeline/fleet/lane-troubles.ts'

const text = (ms: number) => new Date(ms).toISOString()

test('a trouble counts its failed attempts since the first, with the newest reason', () => {
  let nowMs = 1000
  const troubles = createLaneTroubles(() => nowMs)
  troubles.failed({ lane: 'nightly', reason: 'first' })
  nowMs = 2000
  troubles.failed({ lane: 'nightly', reason: 'second' })

  expect(troubles.list()).toEqual([
    { lane: 'nightly', reason: 'second', sinceAt: text(1000), untilAt: null, attempts: 2 },
  ])
})

test('a pause says until when, counts as no attempt, and stays while further attempts fail', () => {
  let nowMs = 1000
  const troubles = createLaneTroubles(() => nowMs)
  troubles.paused({ lane: 'manual', reason: 'asked to wait', pauseMs: 500 })

  expect(troubles.list()).toEqual([
    { lane: 'manual', reason: 'asked to wait', sinceAt: text(1000), untilAt: text(1500), attempts: 0 },
  ])

  nowMs = 1200
  troubles.failed({ lane: 'manual', reason: 'refused' })
  expect(troubles.list()).toEqual([
    { lane: 'manual', reason: 'refused', sinceAt: text(1000), untilAt: text(1500), attempts: 1 },
  ])
  troubles.paused({ lane: 'manual', reason: 'again', pauseMs: 1000 })
  expect(troubles.list()).toEqual([
    { lane: 'manual', reason: 'again', sinceAt: text(1000), untilAt: text(2200), attempts: 1 },
  ])
})

test('a success ends the trouble of its own lane and no other; the next failure begins a new one', () => {
  let nowMs = 1000
  const troubles = createLaneTroubles(() => nowMs)
  expect(troubles.list()).toEqual([])
  troubles.failed({ lane: 'nightly', reason: 'n' })
  troubles.failed({ lane: 'backfill', reason: 'b' })
  troubles.succeeded('nightly')
  troubles.succeeded('manual')

  expect(troubles.list().map(({ lane }) => lane)).toEqual(['backfill'])

  nowMs = 5000
  troubles.failed({ lane: 'nightly', reason: 'anew' })
  expect(troubles.list()).toContainEqual({
    lane: 'nightly',
    reason: 'anew',
    sinceAt: text(5000),
    untilAt: null,
    attempts: 1,
  })
})
