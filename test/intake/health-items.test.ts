import { expect, test } from 'vitest'
import { dataLogInputSchema } from '../../src/base/contract/data-log.ts'
import type { HealthFormat, LogDraft } from '../../src/intake/formats/export-format.ts'
import { garminConnect } from '../../src/intake/formats/garmin-connect.ts'
import { exportFormats } from '../../src/intake/formats/known-formats.ts'
import { importHealthFiles } from '../../src/intake/import-health-files.ts'
import { noProgress } from '../../src/intake/kept-progress.ts'
import type { OutboxItem } from '../../src/pipeline/transfer/parcel.ts'
import { fileOf, importOne } from '../support/health-files.ts'

const at = (atMs: number, offsetMinutes = 60) => ({ atMs, offsetMinutes })
const beginMs = Date.parse('2026-07-01T12:00:00Z')
const draft: LogDraft = {
  dataType: 'heart_rate',
  value: 60,
  start: at(beginMs),
  end: at(beginMs),
  origin: { source: 'Watch', deviceType: 'watch', recordingMethod: 'automatically_recorded' },
}

/** A format whose records are these drafts. */
const formatOf = (drafts: readonly LogDraft[]): HealthFormat => ({
  name: 'drafts',
  title: 'Drafts',
  vendor: 'drafts',
  files: 'drafts',
  checked: 'nothing',
  years: 'none',
  mapping: [],
  detects: () => true,
  async *read() {
    yield {
      records: drafts.map((healthDraft, index) => ({ place: index + 1, draft: healthDraft })),
      bytesRead: 1,
      counted: 'record',
    }
  },
})

test('a duration with fractions of a millisecond becomes an item of whole milliseconds', async () => {
  const activity = {
    activityId: 7,
    activityType: 'running',
    beginTimestamp: beginMs,
    startTimeLocal: beginMs + 7_200_000,
    elapsedDuration: 1_800_000.123046875,
  }
  const file = fileOf('a_summarizedActivities.json', JSON.stringify([{ summarizedActivitiesExport: [activity] }]))
  const items: OutboxItem[] = []
  await importHealthFiles({
    files: [file],
    formats: [garminConnect],
    itemOptions: { externalId: 'ada', timeZone: undefined, fromMs: -Infinity, toMs: Infinity, stream: 'data-logs' },
    heartRate: 'raw',
    begin: noProgress.begin,
    target: {
      resolve: async () => new Map([['ada', { profileId: '1' }]]),
      add: async (more) => ({ accepted: items.push(...more), duplicate: 0 }),
      reject: async () => undefined,
      progressed: async () => undefined,
      signal: new AbortController().signal,
    },
    readBytes: () => undefined,
  })

  expect(items.map(({ startAtMs, endAtMs }) => [startAtMs, endAtMs])).toEqual([[beginMs, beginMs + 1_800_000]])
  expect(JSON.parse(items[0]?.body ?? '')).toMatchObject({
    value: 30,
    startDateTime: '2026-07-01T14:00:00+02:00',
    endDateTime: '2026-07-01T14:30:00+02:00',
  })
})

test('a draft that no schema would take is rejected alone, before anything is stored', async () => {
  const bad: readonly LogDraft[] = [
    { ...draft, origin: { ...draft.origin, deviceId: 'x'.repeat(201) } },
    { ...draft, origin: { ...draft.origin, deviceType: 'x'.repeat(101) } },
    { ...draft, start: at(beginMs, Number.NaN) },
    { ...draft, start: at(beginMs, 1000), end: at(beginMs, 1000) },
    { ...draft, start: at(beginMs, 60.5), end: at(beginMs, 60.5) },
    { ...draft, origin: { ...draft.origin, properties: { note: '\u0000' } } },
  ]
  const { logs, rejects, reports } = await importOne(fileOf('a', 'a'), { formats: [formatOf([...bad, draft])] })

  expect(logs).toHaveLength(1)
  for (const log of logs) dataLogInputSchema.parse(log)
  expect(rejects.map(({ place }) => place)).toEqual(bad.map((_, index) => `record ${index + 1}`))
  expect(reports[0]).toMatchObject({ read: bad.length + 1, mapped: 1, logs: 1 })
})

test('a row whose date lies beyond all calendars is rejected alone', async () => {
  const beat = (secondsFromDayStart: number) => ({ heartRate: 60, secondsFromDayStart })
  const day = { date: '2026-07-01', samples: [beat(1e300), beat(60)] }
  const file = fileOf('247ohr_2026_07.json', JSON.stringify({ deviceDays: [day] }))
  const { logs, rejects } = await importOne(file, { formats: exportFormats, timeZone: 'Europe/Berlin' })

  expect(logs.map(({ startDateTime }) => startDateTime)).toEqual(['2026-07-01T00:01:00+02:00'])
  expect(rejects.map(({ place }) => place)).toEqual(['record 1'])
})
