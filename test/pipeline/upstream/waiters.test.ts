import fc from 'fast-check'
import { expect, test } from 'vitest'
import { RetryLater } from '../../../src/base/errors.ts'
import { type Lane, lanes } from '../../../src/pipeline/fleet/budget.ts'
import { LoadMeter } from '../../../src/pipeline/upstream/limits/load-meter.ts'
import { Waiters } from '../../../src/pipeline/upstream/limits/waiters.ts'

const anyLane = fc.constantFrom<Lane>(...lanes)
const step = fc.oneof(
  fc.record({ act: fc.constant('add' as const), lane: anyLane }),
  fc.record({ act: fc.constant('admit' as const) }),
  fc.record({ act: fc.constant('give up' as const), which: fc.nat(30) }),
  fc.record({ act: fc.constant('reject older than' as const), ageMs: fc.nat(8) }),
  fc.record({ act: fc.constant('pass' as const) }),
)

type Waiting = { name: number; lane: Lane; sinceMs: number; leave: AbortController }

test('waiters leave in order of urgency and arrival, those that give up or grow old leave alone, and the counts are right', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const waiters = new Waiters()
      let model: Waiting[] = []
      const expected: string[] = []
      const left: string[] = []
      let nowMs = 0
      let names = 0
      const add = (lane: Lane) => {
        const added = { name: names, lane, sinceMs: nowMs, leave: new AbortController() }
        names += 1
        model.push(added)
        waiters.add(lane, nowMs, added.leave.signal).then(
          () => left.push(`${added.name} admitted`),
          (error: Error) => left.push(`${added.name} ${error.name}`),
        )
      }
      const remove = (some: readonly Waiting[], end: string) => {
        expected.push(...some.map(({ name }) => `${name} ${end}`))
        model = model.filter((waiter) => !some.includes(waiter))
        for (const { leave } of some) leave.abort() // a caller that gives up after the end changes nothing
      }
      for (const step of steps) {
        if (step.act === 'add') add(step.lane)
        if (step.act === 'pass') nowMs += 1
        if (step.act === 'admit') {
          const lane = waiters.nextLane()
          expect(lane).toBe(lanes.find((urgent) => model.some((waiting) => waiting.lane === urgent)))
          const first = model.find((waiting) => waiting.lane === lane)
          if (lane) waiters.admitFirst(lane)
          remove(first ? [first] : [], 'admitted')
        }
        if (step.act === 'give up') {
          const leaver = model[step.which]
          leaver?.leave.abort()
          remove(leaver ? [leaver] : [], 'Unanswered')
        }
        if (step.act === 'reject older than') {
          waiters.rejectOlderThan(nowMs - step.ageMs, new RetryLater('too long', { waitMs: 1 }))
          remove(
            model.filter(({ sinceMs }) => sinceMs < nowMs - step.ageMs),
            'RetryLater',
          )
        }
        expect(waiters.size).toBe(model.length)
        const counts = lanes.map((lane) => [lane, model.filter((waiting) => waiting.lane === lane).length])
        expect(waiters.countByLane()).toEqual(Object.fromEntries(counts))
      }
      waiters.rejectAll(new RetryLater('closing', { waitMs: 1 }))
      remove(model, 'RetryLater')
      expect(waiters.size).toBe(0)
      await new Promise((turned) => setImmediate(turned))
      expect(left.toSorted()).toEqual(expected.toSorted())
    }),
  )
})

test('a waiter whose signal has aborted before does not wait', async () => {
  const waiters = new Waiters()
  const waiting = waiters.add('manual', 0, AbortSignal.abort('gone'))

  await expect(waiting).rejects.toMatchObject({
    name: 'Unanswered',
    message: 'wait for budget: given up by its caller',
    cause: 'gone',
  })
  expect(waiters.size).toBe(0)
})

test('10,000 calls may wait, and no more; a waiter that left makes room', async () => {
  const waiters = new Waiters()
  for (let call = 0; call < 10_000; call += 1) waiters.add('backfill', 0, undefined).catch(() => undefined)

  await expect(waiters.add('nightly', 0, undefined)).rejects.toThrow('10000 wait already')
  expect(waiters.size).toBe(10_000)
  waiters.admitFirst('backfill')
  waiters.add('nightly', 0, undefined).catch(() => undefined)
  expect(waiters.size).toBe(10_000)
})

test('the load of a process is measured from heartbeat to heartbeat', () => {
  let nowMs = 5000
  const meter = new LoadMeter(() => nowMs)
  const waiting = { nightly: 1, manual: 2, backfill: 3 }
  const ended = (latencyMs: number) => ({ latencyMs, overloaded: false, retryAfterMs: 0 })
  const nobody = { nightly: 0, manual: 0, backfill: 0 }
  for (const lane of ['nightly', 'manual', 'manual', 'backfill'] as const) meter.requestStarted(lane)
  meter.requestEnded('manual', ended(10))
  meter.requestEnded('backfill', ended(30))
  nowMs += 500

  expect(meter.answersPerSecond()).toBe(4)
  const first = { demand: { nightly: 2, manual: 3, backfill: 3 }, answersPerSecond: 4, latencyMs: 20 }
  expect(meter.take(waiting)).toEqual(first)
  nowMs += 2000
  meter.requestEnded('nightly', ended(7))
  const second = { demand: { nightly: 0, manual: 1, backfill: 0 }, answersPerSecond: 0.5, latencyMs: 7 }
  expect(meter.take(nobody)).toEqual(second)
  nowMs += 1000
  expect(meter.take(nobody)).toMatchObject({ answersPerSecond: 0, latencyMs: 0 })
  meter.requestEnded('manual', ended(1))
  nowMs += 1 // too short to measure: counts as a twentieth of a second
  expect(meter.take(nobody)).toEqual({ demand: nobody, answersPerSecond: 20, latencyMs: 1 })
})
