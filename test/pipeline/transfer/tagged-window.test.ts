import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Operation } from '../../../src/base/contract/operations.ts'
import { keyColumns, type PulledStream } from '../../../src/pipeline/transfer/stream.ts'
import { requestHashOf, taggedSpanOf } from '../../../src/pipeline/transfer/tagged-window.ts'

const operation: Operation = { name: 'scoresOf', method: 'GET', path: '/api/v1/scores/{externalId}', caller: 'account' }
const scores: PulledStream = {
  name: 'scores',
  kind: 'windowed',
  operation,
  query: ({ startMs, endMs }) => ({ from: String(startMs), to: String(endMs) }),
  schema: z.unknown(),
  table: 'scores',
  windowMs: 10,
  settleMs: 10,
  touchedBy: {},
  columns: [
    { name: 'type', type: 'text', from: ['type'], key: true },
    { name: 'value', type: 'number', from: ['value'] },
    { name: 'day', type: 'instant', from: ['day'], key: true },
  ],
}
const { query: _, ...withoutQuery } = scores
const snapshot: PulledStream = { ...withoutQuery, kind: 'snapshot' }
const window = { startMs: 100, endMs: 200 }

test('a window keeps its own tag, a snapshot keeps one for all windows', () => {
  expect(taggedSpanOf(scores, window)).toEqual(window)
  expect(taggedSpanOf(snapshot, window)).toEqual({ startMs: 0, endMs: 0 })
})

test('each part of the request is in its hash: the method, the path, the query', () => {
  const hashes = [
    requestHashOf(scores, window),
    requestHashOf({ ...scores, operation: { ...operation, method: 'POST' } }, window),
    requestHashOf({ ...scores, operation: { ...operation, path: '/api/v1/trends/{externalId}' } }, window),
    requestHashOf({ ...scores, query: () => ({ from: '100', to: '201' }) }, window),
    requestHashOf(withoutQuery, window),
    requestHashOf(snapshot, window),
  ]

  expect(new Set(hashes).size).toBe(hashes.length)
})

test('the hash is the one that stored tags were kept with', () => {
  expect(requestHashOf({ ...scores }, window)).toBe(-520235840)
  expect(requestHashOf({ ...withoutQuery }, window)).toBe(1625937883)
  expect(requestHashOf({ ...snapshot }, window)).toBe(-1259521298)
})

test('a stream asked for many windows in turn gives each its own hash', () => {
  const windows = [window, { ...window, endMs: 201 }, { ...window, startMs: 101 }, window]
  const fresh = windows.map((window) => requestHashOf({ ...scores }, window))

  expect(windows.map((window) => requestHashOf(scores, window))).toEqual(fresh)
  expect(fresh[0]).toBe(fresh[3])
  expect(new Set(fresh).size).toBe(3)
})

test('the request for a snapshot does not depend on the window', () => {
  const asked = { ...snapshot, query: () => ({ never: 'asked' }) }

  expect(requestHashOf(asked, { startMs: 1, endMs: 2 })).toBe(requestHashOf(snapshot, window))
})

test('the key of a record is made of the columns that say so, in their order', () => {
  expect(keyColumns(scores).map(({ name }) => name)).toEqual(['type', 'day'])
})
