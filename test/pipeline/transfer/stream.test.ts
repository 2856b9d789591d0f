import { expect, test } from 'vitest'
import { identifyLog, identifyTag } from '../../../src/pipeline/transfer/stream.ts'

const origin = { externalId: 'ada', startAtMs: 1_000, endAtMs: 2_000 }
const heartRate = { logType: 'measure', dataType: 'heart_rate', source: 'watch', value: 61 }
const keyOf = (body: Record<string, unknown>, more: Partial<typeof origin> = {}) =>
  identifyLog(body, { ...origin, ...more }).itemKey

test('a log with an id is known by it, written in small letters', () => {
  const body = { ...heartRate, id: '0F8C5A10-1B7B-4C5E-8A2B-3D1E5F708090' }

  const { itemKey, body: sent } = identifyLog(body, origin)

  expect(itemKey).toBe('0f8c5a10-1b7b-4c5e-8a2b-3d1e5f708090')
  expect(sent).toEqual({ ...body, id: itemKey })
})

test('a log without an id gets the id that this measurement has always had', () => {
  // Logs that were pushed by earlier versions are known upstream by this id: it must not change.
  const { itemKey, body } = identifyLog(heartRate, origin)

  expect(itemKey).toBe('66195d9b-59b0-52d9-aff7-c915c9233bdb')
  expect(body).toEqual({ ...heartRate, id: itemKey })
})

test('an id that is no text does not become the key', () => {
  expect(keyOf({ ...heartRate, id: 17 })).toBe(keyOf(heartRate))
})

test('the key of a measurement depends on person, kind, source and time, and not on the value', () => {
  const others = [
    keyOf(heartRate, { externalId: 'bob' }),
    keyOf({ ...heartRate, logType: 'event' }),
    keyOf({ ...heartRate, dataType: 'steps' }),
    keyOf({ ...heartRate, source: 'phone' }),
    keyOf(heartRate, { startAtMs: 1_001 }),
    keyOf(heartRate, { endAtMs: 2_001 }),
  ]

  expect(new Set([keyOf(heartRate), ...others]).size).toBe(7)
  expect(keyOf({ ...heartRate, value: 62 })).toBe(keyOf(heartRate))
})

test('a tag is known by its type, name, source and start, and is sent as it is', () => {
  const tag = { type: 'event', name: 'coffee', source: 'app', note: 'large' }
  const { itemKey, body } = identifyTag(tag, origin)

  expect(itemKey).toBe('["event","coffee","app",1000]')
  expect(body).toBe(tag)
})
