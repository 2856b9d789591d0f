import { describe, expect, test } from 'vitest'
import { checkedInstant, formatInstant } from '../../../src/base/time/instant.ts'
import { dayText } from '../../../src/base/time/local-time.ts'
import { DAY, MINUTE } from '../../../src/base/time/units.ts'
import { exportFormats } from '../../../src/intake/formats/known-formats.ts'
import { exportWriters } from '../../../src/service/sandbox/exports/export-writers.ts'
import type { SampleLog } from '../../../src/service/sandbox/people/sample-logs.ts'
import { logsOf, samplePeople } from '../../../src/service/sandbox/people/sample-people.ts'
import { stepsByDay } from '../../support/apple-day-steps.ts'
import { factsOfLogs } from '../../support/facts-of-logs.ts'
import { entriesOf, fileOf, importInto, importOne } from '../../support/health-files.ts'

/** Two weeks with a change of clocks in London, on 29 March; exported in summer time. */
const endMs = Date.parse('2026-04-05T12:00:00Z')
const span = { startMs: endMs - 14 * DAY, endMs }
const london = 'Europe/London'
const summerOffset = 60

const people = samplePeople('exports', 6)
const personOf = (kind: string) => people.find((person) => person.kind === kind) ?? raise(kind)
const raise = (what: string): never => {
  throw new Error(`no ${what}`)
}

test('every format that can be read can be written', () => {
  expect(exportFormats.map(({ name }) => name).toSorted()).toEqual(Object.keys(exportWriters).toSorted())
})

describe('apple-health', () => {
  const leftOut = new Set(['heart_rate_variability_rmssd', 'device_lock'])
  const xmlOf = async (kind: string) => {
    const logs = logsOf(personOf(kind), span)
    const written = (await exportWriters['apple-health']?.(logs, summerOffset)) ?? raise('writer')
    return { logs, xml: String(entriesOf(written.data)[0]?.data) }
  }

  test.each(['office-worker', 'two-devices'])(
    'written, read and derived, a %s has the days of the logs themselves',
    async (kind) => {
      const { logs, xml } = await xmlOf(kind)
      const timeZone = personOf(kind).homeZone
      const { logs: read, reports } = await importOne(fileOf('export.xml', xml), { timeZone })
      const direct = factsOfLogs(logs.filter(({ dataType }) => !leftOut.has(dataType)))

      expect(reports[0]?.rejected).toEqual([])
      expect(direct.length).toBeGreaterThan(10)
      expect(factsOfLogs(read)).toEqual(direct)
    },
  )

  test('the steps of each day are those that the file adds up to in the person’s zone, across the change of clocks', async () => {
    const { xml } = await xmlOf('office-worker')
    const { logs } = await importOne(fileOf('export.xml', xml), { timeZone: london })
    const derived = factsOfLogs(logs).flatMap(({ day, movement }) =>
      movement?.steps ? [[dayText(day), movement.steps] as const] : [],
    )
    expect(derived.length).toBeGreaterThan(12)
    expect(derived.map(([day]) => day)).toContain('2026-03-29')
    expect(Object.fromEntries(derived)).toEqual(stepsByDay(xml, london))
  })
})

describe('fitbit', () => {
  const exported =
    /^(steps|heart_rate|resting_heart_rate|sleep_stage_.*|exercise_session_.*|heart_rate_variability_rmssd|oxygen_saturation)$/

  /** Fitbit has steps by the minute: whole ones, the earlier minutes with the rest. */
  const byMinute = (log: SampleLog): SampleLog[] => {
    if (log.dataType !== 'steps') return [log]
    const { offsetMinutes, epochMs } = checkedInstant(log.startDateTime)
    const minutes = (Date.parse(log.endDateTime) - epochMs) / MINUTE
    const at = (minute: number) => formatInstant({ epochMs: epochMs + minute * MINUTE, offsetMinutes })
    return Array.from({ length: minutes }, (_, minute) => ({
      ...log,
      id: `${log.id}/${minute}`,
      value: Math.floor(log.value / minutes) + (minute < log.value % minutes ? 1 : 0),
      startDateTime: at(minute),
      endDateTime: at(minute + 1),
    })).filter(({ value }) => value > 0)
  }

  test('written, read and derived, an office worker has the days of the logs of the watch', async () => {
    const logs = logsOf(personOf('office-worker'), span)
    const written = (await exportWriters['fitbit']?.(logs, summerOffset)) ?? raise('writer')
    const files = entriesOf(written.data).map(({ name, data }) => fileOf(name, data))
    const {
      logs: read,
      reports,
      unread,
    } = await importInto(new Map(), files, { timeZone: london, formats: exportFormats })
    const watchLogs = logs.filter(({ dataType, deviceType }) => deviceType === 'watch' && exported.test(dataType))
    const direct = factsOfLogs(watchLogs.flatMap(byMinute))

    expect(reports.flatMap(({ rejected }) => rejected)).toEqual([])
    expect(unread.map(({ reason, isLeftOut }) => [reason, isLeftOut])).toEqual([
      ['the steps of a workout by the second: steps_DATE.csv has them', true],
    ])
    expect(direct.length).toBeGreaterThan(10)
    expect(factsOfLogs(read)).toEqual(direct)
  })
})
