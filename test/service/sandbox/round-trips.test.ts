import { describe, expect, test } from 'vitest'
import { DAY, MINUTE } from '../../../src/base/time/units.ts'
import { exportFormats } from '../../../src/intake/formats/known-formats.ts'
import { exportWriters } from '../../../src/service/sandbox/exports/export-writers.ts'
import type { SampleLog } from '../../../src/service/sandbox/people/sample-logs.ts'
import { logsOf, samplePeople } from '../../../src/service/sandbox/people/sample-people.ts'
import { factsOfLogs } from '../../support/facts-of-logs.ts'
import { entriesOf, fileOf, importInto, type PushedLog } from '../../support/health-files.ts'

/** Two weeks with a change of clocks in London, on 29 March; exported in summer time. */
const endMs = Date.parse('2026-04-05T12:00:00Z')
const person = samplePeople('exports', 1)[0]
const logs = person ? logsOf(person, { startMs: endMs - 14 * DAY, endMs }) : []
const timeZone = 'Europe/London'

type RoundTrip = {
  readonly format: string
  readonly devices: RegExp
  /** The types that the export keeps whole: the days derived from them are those of the logs themselves. */
  readonly whole: RegExp
  /** The types that it keeps as sums only. */
  readonly sums: RegExp
}

const trips: readonly RoundTrip[] = [
  {
    format: 'polar',
    devices: /watch/,
    whole: /^(sleep_stage_.*|heart_rate|exercise_session_.*)$/,
    sums: /^steps$/,
  },
  {
    format: 'open-mhealth',
    devices: /watch|scale/,
    whole:
      /^(steps|heart_rate|sleep_stage_in_bed|oxygen_saturation|respiratory_rate|exercise_session_.*|weight|body_fat)$/,
    sums: /^none$/,
  },
  {
    format: 'fhir',
    devices: /watch|scale/,
    whole:
      /^(steps|heart_rate|resting_heart_rate|heart_rate_variability_sdnn|oxygen_saturation|respiratory_rate|weight|body_fat)$/,
    sums: /^none$/,
  },
  {
    format: 'google-fit',
    devices: /watch|scale/,
    whole:
      /^(steps|sleep_stage_(awake|light|deep|rem)|heart_rate|resting_heart_rate|oxygen_saturation|exercise_session_.*|weight|body_fat)$/,
    sums: /^none$/,
  },
  {
    format: 'samsung-health',
    devices: /watch|scale/,
    whole: /^(steps|sleep_stage_.*|heart_rate|exercise_session_.*|weight)$/,
    sums: /^none$/,
  },
  {
    format: 'fitabase',
    devices: /watch|scale/,
    whole: /^(heart_rate|weight)$/,
    sums: /^(steps|sleep_stage_awake)$/,
  },
  {
    format: 'garmin-connect',
    devices: /watch|scale/,
    whole: /^(sleep_stage_in_bed|exercise_session_.*|weight)$/,
    sums: /^(steps|resting_heart_rate|sleep_stage_.*)$/,
  },
  {
    format: 'garmin-fit',
    devices: /watch|scale/,
    whole: /^(steps|heart_rate|resting_heart_rate|exercise_session_.*|weight)$/,
    sums: /^none$/,
  },
  {
    format: 'health-connect',
    devices: /watch|scale/,
    whole:
      /^(steps|floors_climbed|sleep_stage_.*|heart_rate|resting_heart_rate|heart_rate_variability_rmssd|respiratory_rate|oxygen_saturation|vo2_max|active_energy_burned|exercise_session_.*|weight|body_fat)$/,
    sums: /^none$/,
  },
  {
    format: 'oura',
    devices: /watch/,
    whole: /^(sleep_stage_.*|heart_rate|resting_heart_rate|exercise_session_.*)$/,
    sums: /^(steps|heart_rate_variability_rmssd)$/,
  },
  {
    format: 'whoop',
    devices: /watch/,
    whole: /^(sleep_stage_in_bed|resting_heart_rate|exercise_session_.*)$/,
    sums: /^sleep_stage_.*$/,
  },
  {
    format: 'withings',
    devices: /watch|scale/,
    whole: /^(sleep_stage_.*|heart_rate|steps|exercise_session_.*|weight)$/,
    sums: /^none$/,
  },
]

/** The children of nights are known by their times: exports do not name their parent. */
const withoutParents = (log: SampleLog | PushedLog) => ({ ...log, parentId: null })

function sumsOf(read: ReadonlyArray<SampleLog | PushedLog>, types: RegExp): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const { dataType, value } of read) if (types.test(dataType)) sums[dataType] = (sums[dataType] ?? 0) + value
  return Object.fromEntries(Object.entries(sums).map(([type, sum]) => [type, Number(sum.toFixed(3))]))
}

async function readBack(format: string, outbox = new Map<string, string>()) {
  const written = await exportWriters[format]?.(logs, 60)
  const files = entriesOf(written?.data ?? Buffer.alloc(4)).map(({ name, data }) => fileOf(name, data))
  return importInto(outbox, files, { timeZone, formats: exportFormats })
}

describe.each(trips)('$format', ({ format, devices, whole, sums }) => {
  test('written, read and derived, an office worker has the days of the logs that the export holds', async () => {
    const read = await readBack(format)
    const ownLogs = logs.filter(({ deviceType }) => devices.test(deviceType))
    const direct = factsOfLogs(ownLogs.filter(({ dataType }) => whole.test(dataType)).map(withoutParents))

    expect(read.rejects).toEqual([])
    expect(new Set(read.reports.map((report) => report.format))).toEqual(new Set([format]))
    expect(direct.length).toBeGreaterThan(10)
    expect(factsOfLogs(read.logs.filter(({ dataType }) => whole.test(dataType)))).toEqual(direct)
    expect(sumsOf(read.logs, sums)).toEqual(sumsOf(ownLogs, sums))
  })

  test('read twice, it adds nothing, and no two records are one log', async () => {
    const outbox = new Map<string, string>()
    const [first, second] = [await readBack(format, outbox), await readBack(format, outbox)]

    expect(first.progress.duplicate).toBe(0)
    expect(first.progress.accepted).toBeGreaterThan(50)
    expect(second.progress).toMatchObject({ accepted: 0, duplicate: first.progress.accepted })
  })
})

test('the two weeks hold a change of clocks', () => {
  const offsets = new Set(logs.map(({ startDateTime }) => startDateTime.slice(-6)))

  expect([...offsets].toSorted()).toEqual(['+00:00', '+01:00'])
  expect(logs.length).toBeGreaterThan(14 * (DAY / MINUTE / 10))
})
