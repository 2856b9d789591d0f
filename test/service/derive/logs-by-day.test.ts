import { expect, test } from 'vitest'
import { dayNumberFromText } from '../../../src/base/time/local-time.ts'
import { createLogsByDay, neighbourDays } from '../../../src/service/derive/day/logs-by-day.ts'
import type { DataLog } from '../../../src/service/derive/day/parsed-log.ts'
import { daysFrom, log } from './made-logs.ts'

const march10 = dayNumberFromText('2026-03-10')

test('logs that differ in kind, start, end, value or source are no copies of one another', () => {
  const stepsLog = log('steps', '2026-03-10T08:00:00Z', [10, 100])
  const others = [
    { dataType: 'floors_climbed' },
    { startMs: stepsLog.startMs + 1 },
    { endMs: stepsLog.endMs + 1 },
    { value: 101 },
    { source: 'other-app' },
  ]
  const kept = (other: Partial<DataLog>) =>
    createLogsByDay([stepsLog, { ...stepsLog, ...other, id: 'other' }]).allOn(march10).length

  for (const other of others) expect(kept(other), JSON.stringify(other)).toBe(2)
  expect(kept({ deviceType: 'ring', unit: 'step' })).toBe(1)
})

test('of two copies the better one is kept, whichever comes first', () => {
  const copy = log('steps', '2026-03-10T08:00:00Z', [10, 100])
  const typed = { ...copy, id: 'typed', recordingMethod: 'manual_entry' }

  for (const order of [
    [copy, typed],
    [typed, copy],
  ])
    expect(createLogsByDay(order).allOn(march10)).toEqual([copy])
})

test('a day sees the logs of the two days before it and of the two after', () => {
  const logs = daysFrom('2026-03-07', 7).map((day, index) => log(`steps_${6 - index}`, `${day}T12:00:00Z`, [10, 100]))
  const logsByDay = createLogsByDay(logs)

  expect(neighbourDays).toBe(2)
  expect(logsByDay.dataTypesAround(march10, 'steps')).toEqual(['steps_1', 'steps_2', 'steps_3', 'steps_4', 'steps_5'])
  expect(logsByDay.dataTypesAround(march10, 'steps_2')).toEqual(['steps_2'])
  expect(logsByDay.dataTypesAround(march10 + 30, '')).toEqual([])
})

test.each([
  ['a day of 25 hours', 25 * 60, 0, true],
  ['a minute more', 25 * 60 + 1, 0, false],
  ['a day of 26 hours that is one of 25 by the clock on the wall', 26 * 60, -60, true],
  ['a day of 25 hours that is one of 26 by the clock on the wall', 25 * 60, 60, true],
])('a log lasts a day at most, also where clocks change: %s', (_, minutes, clocksChangeBy, isKept) => {
  const whole = log('steps', '2026-03-10T00:00:00+02:00', [minutes, 100], { endOffset: 120 + clocksChangeBy })

  expect(createLogsByDay([whole]).allOn(march10)).toEqual(isKept ? [whole] : [])
})

test('a value beyond those of its data type is left out, and the lineage hears why', () => {
  const logs = [1_000_000, 1_000_001].map((value) => log('steps', '2026-03-10T08:00:00Z', [10, value]))
  const heard: string[] = []
  const lineage = {
    used: () => undefined,
    leftOut: (_: DataLog, as: string, why: string) => heard.push(`${as}: ${why}`),
  }

  expect(createLogsByDay(logs, lineage).allOn(march10)).toEqual(logs.slice(0, 1))
  expect(heard).toEqual(['steps: its value is beyond those of its data type'])
})
