import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  coverMinutes,
  evidenceOfLog,
  hasMinute,
  markMinutes,
  noMinutes,
} from '../../../src/base/contract/log-evidence.ts'
import { dayNumberFromText } from '../../../src/base/time/local-time.ts'

const log = (fields: Record<string, unknown>) => ({
  ...{ logType: 'activity', dataType: 'steps', value: 10, deviceType: 'watch' },
  ...{ startDateTime: '2026-03-02T10:00:00+02:00', endDateTime: '2026-03-02T10:05:00+02:00' },
  ...fields,
})
const kindOf = (logType: string, dataType: string, value = 1) => evidenceOfLog(log({ logType, dataType, value })).kind

test('a log is of the kind that its derivation needs, and has no value', () => {
  expect(evidenceOfLog(log({}))).toEqual({ kind: 'steps', offsetMinutes: 120, device: 'watch', isTimed: true })
  expect(kindOf('activity', 'steps', 0)).toBe('zero')
  expect(kindOf('energy', 'active_energy_burned', 0)).toBe('zero')
  expect(kindOf('heart', 'heart_rate', 0)).toBe('heart')
  expect(kindOf('heart', 'heart_rate_variability_sdnn')).toBe('vitals')
  expect(kindOf('sleep', 'sleep_stage_deep')).toBe('sleep')
  expect(kindOf('sleep', 'sleep_stage_awake')).toBe('other')
  expect(kindOf('symptom', 'cough')).toBe('other')
})

test('a total covers no minute, an interval and a sample do', () => {
  expect(evidenceOfLog(log({ periodicity: 'daily' })).isTimed).toBe(false)
  expect(evidenceOfLog(log({ endDateTime: '2026-03-02T16:00:00+02:00' })).isTimed).toBe(true)
  expect(evidenceOfLog(log({ endDateTime: '2026-03-02T16:00:01+02:00' })).isTimed).toBe(false)
  const night = { logType: 'sleep', dataType: 'sleep_stage_in_bed' }
  expect(evidenceOfLog(log({ ...night, endDateTime: '2026-03-03T10:00:00+02:00' })).isTimed).toBe(true)
  expect(evidenceOfLog(log({ ...night, endDateTime: '2026-03-03T10:00:01+02:00' })).isTimed).toBe(false)
})

/** The days and minutes that a log marks. */
function marked(start: string, end: string, more = {}) {
  const marks: unknown[] = []
  const evidence = { ...evidenceOfLog(log({ startDateTime: start, endDateTime: end })), ...more }
  markMinutes({ startMs: Date.parse(start), endMs: Date.parse(end) }, evidence, (day, from, to) =>
    marks.push([day - dayNumberFromText('2026-03-02'), from, to]),
  )
  return marks
}

test('minutes are those of the local day of the log, cut at its midnight', () => {
  expect(marked('2026-03-02T23:30:00+02:00', '2026-03-03T00:30:00+02:00')).toEqual([
    [0, 1410, 1440],
    [1, 0, 30],
  ])
  expect(marked('2026-03-02T00:00:00-08:00', '2026-03-02T00:00:30-08:00')).toEqual([[0, 0, 1]])
  expect(marked('2026-03-02T12:00:00Z', '2026-03-02T12:00:00Z')).toEqual([[0, 720, 725]])
  expect(marked('2026-03-02T23:58:00Z', '2026-03-02T23:58:00Z')).toEqual([[0, 1438, 1440]])
  expect(marked('2026-03-02T00:00:00Z', '2026-03-03T00:00:00Z', { isTimed: false })).toEqual([[0, 0, 0]])
})

test('a bit is a minute', () => {
  const minutes = noMinutes()
  coverMinutes(minutes, 7, 10)

  expect([...minutes.slice(0, 2)]).toEqual([1, 0b11000000])
  expect([6, 7, 9, 10].map((minute) => hasMinute(minutes, minute))).toEqual([false, true, true, false])
})

test('covering sets the minutes of the span and no other, whatever was covered before', () => {
  const minute = fc.integer({ min: 0, max: 1440 })
  fc.assert(
    fc.property(fc.array(fc.tuple(minute, minute), { maxLength: 4 }), (spans) => {
      const minutes = noMinutes()
      for (const [from, to] of spans) coverMinutes(minutes, from, to)
      const covered = Array.from({ length: 1440 }, (_, at) => spans.some(([from, to]) => at >= from && at < to))
      expect(covered.map((_, at) => hasMinute(minutes, at))).toEqual(covered)
    }),
  )
})
