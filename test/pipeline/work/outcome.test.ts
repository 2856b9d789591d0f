import { expect, test } from 'vitest'
import { EngineUnreachable, Halted, NotThere, Rejected, RetryLater, Unanswered } from '../../../src/base/errors.ts'
import { PartialOutage } from '../../../src/pipeline/warehouse/postgres/sql-errors.ts'
import { createWaits, failureOutcomeOf } from '../../../src/pipeline/work/outcome.ts'

const attempt = { isLast: false, isClosing: false, mayWait: true }
const busy = new RetryLater('read scores: busy', { waitMs: 1234 })
const withCode = (code: string) => Object.assign(new Error('a record of ada'), { code })

test('a job that upstream asks to wait pauses its lane for that long and uses up no attempt', () => {
  const wait = { action: 'pause-lane', outcome: 'again', pauseMs: 1234, isWait: true }
  expect(failureOutcomeOf(busy, attempt)).toEqual(wait)
  expect(failureOutcomeOf(busy, { ...attempt, isLast: true })).toEqual(wait)
})

test('a job that may not wait any more uses up attempts, and fails with the last', () => {
  const message = 'read scores: busy'
  expect(failureOutcomeOf(busy, { ...attempt, mayWait: false })).toEqual({
    action: 'retry',
    outcome: 'again',
    message,
    delayMinMs: 1234,
  })
  expect(failureOutcomeOf(busy, { isLast: true, isClosing: false, mayWait: false })).toEqual({
    action: 'give-up',
    outcome: 'failed',
    message,
  })
})

test.each([
  ['refused credentials', new Halted('no'), { outcome: 'halted', pauseMs: 60_000 }],
  ['an engine out of reach', new EngineUnreachable('no'), { outcome: 'again', pauseMs: 2000 }],
  ['a connection that was cut', withCode('ECONNRESET'), { outcome: 'again', pauseMs: 2000 }],
  ['a Postgres that shuts down', withCode('57P01'), { outcome: 'again', pauseMs: 2000 }],
])('%s pauses the lane, even at the last attempt, and is no wait of the job', (_, error, expected) => {
  const outcome = failureOutcomeOf(error, { isLast: true, isClosing: false, mayWait: false })
  expect(outcome).toEqual({ action: 'pause-lane', isWait: false, ...expected })
})

test.each([
  ['a refusal', new Rejected('no', { status: 400 })],
  ['a profile that upstream does not know', new NotThere('no')],
])('%s fails at the first attempt', (_, error) => {
  expect(failureOutcomeOf(error, attempt)).toEqual({ action: 'give-up', outcome: 'failed', message: 'no' })
})

test('an outage for some people delays the one job, even at its last attempt, and pauses no lane', () => {
  const outcome = failureOutcomeOf(new PartialOutage('no'), { isLast: true, isClosing: false, mayWait: false })
  expect(outcome).toEqual({ action: 'delay', outcome: 'again', delayMs: 10_000 })
})

test('any other failure is retried until the last attempt', () => {
  const lost = new Unanswered('read scores: no answer')
  expect(failureOutcomeOf(lost, attempt)).toMatchObject({ action: 'retry', outcome: 'again', message: lost.message })
  expect(failureOutcomeOf(lost, { ...attempt, isLast: true })).toMatchObject({ action: 'give-up', outcome: 'failed' })
})

test('the queue gets no message of a foreign error', () => {
  for (const error of [withCode('23505'), new TypeError('a record of ada'), 'a record of ada']) {
    const message = 'unexpected error, see the log of the worker'
    expect(failureOutcomeOf(error, attempt)).toEqual({ action: 'retry', outcome: 'again', message, delayMinMs: 0 })
  }
})

test('a job that a closing process aborts goes back to the waiting ones, whatever it failed with', () => {
  for (const error of [busy, new Rejected('no', { status: 400 }), new Halted('no'), withCode('ECONNRESET')]) {
    const outcome = failureOutcomeOf(error, { isLast: true, isClosing: true, mayWait: false })
    expect(outcome).toEqual({ action: 'requeue', outcome: 'again' })
  }
})

/** How often a job may wait until its free waits are used up; `others` happens after each wait. */
function waitsUntilExhausted(waits: ReturnType<typeof createWaits>, others: () => void = () => undefined): number {
  let times = 0
  for (; waits.mayWait('1') && times < 100; times += 1) {
    waits.waited('1')
    others()
  }
  return times
}

test('while no job succeeds a job may wait 20 times, while others succeed 3 times', () => {
  expect(waitsUntilExhausted(createWaits())).toBe(20)
  const waits = createWaits()
  expect(waitsUntilExhausted(waits, () => waits.succeeded('2'))).toBe(3)
})

test('a success between the first wait and the second counts, though none follows', () => {
  const waits = createWaits()
  waits.waited('1')
  waits.succeeded('2')

  expect(1 + waitsUntilExhausted(waits)).toBe(3)
})

test('a success that came before the first wait does not count', () => {
  const waits = createWaits()
  waits.succeeded('2')
  expect(waitsUntilExhausted(waits)).toBe(20)
})

test('a job that has ended gets its free waits back', () => {
  for (const end of ['succeeded', 'gaveUp'] as const) {
    const waits = createWaits()
    waitsUntilExhausted(waits)
    expect(waits.mayWait('1')).toBe(false)
    waits[end]('1')
    expect(waits.mayWait('1')).toBe(true)
  }
})

test('counts of 10,000 jobs are kept: beyond, the one that changed least recently is dropped', () => {
  const waits = createWaits()
  waitsUntilExhausted(waits)
  for (let id = 2; id <= 10_000; id += 1) waits.waited(`${id}`)
  expect(waits.mayWait('1')).toBe(false)
  waits.waited('10001')
  expect(waits.mayWait('1')).toBe(true)
})
