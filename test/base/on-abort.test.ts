import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { onAbort } from '../../src/base/on-abort.ts'

const listenersOf = (signal: AbortSignal) => getEventListeners(signal, 'abort').length

test('an abort calls back each caller that still listens, once, by one listener of the signal', () => {
  const aborting = new AbortController()
  const called: string[] = []
  const stops = ['a', 'b', 'c'].map((name) => onAbort(aborting.signal, () => called.push(name)))

  stops[1]?.()
  expect(listenersOf(aborting.signal)).toBe(1)
  aborting.abort()
  aborting.abort()

  expect(called).toEqual(['a', 'c'])
})

test('a caller that stops because of the abort is not called any more', () => {
  const aborting = new AbortController()
  const called: string[] = []
  onAbort(aborting.signal, () => {
    called.push('first')
    stopSecond()
  })
  const stopSecond = onAbort(aborting.signal, () => called.push('second'))

  aborting.abort()

  expect(called).toEqual(['first'])
})

test('the last caller to stop removes the listener, and a caller that stops twice takes it from no other', () => {
  const { signal } = new AbortController()
  const stopFirst = onAbort(signal, () => undefined)

  stopFirst()
  expect(listenersOf(signal)).toBe(0)
  const stopSecond = onAbort(signal, () => undefined)
  stopFirst()
  expect(listenersOf(signal)).toBe(1)
  stopSecond()
  expect(listenersOf(signal)).toBe(0)
})
