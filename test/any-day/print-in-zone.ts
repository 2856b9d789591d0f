/**
 * Run as a separate process: prints, one line each, the hash of what reads and writes dates, for inputs of a fixed seed. The last line is the
 * offset of the process's own time zone, which no other line may depend on.
 */
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { readConfig } from '../../config/env.ts'
import { schedulesOf } from '../../config/schedules.ts'
import { formatInstant, localDateOf, parseInstant } from '../../src/base/time/instant.ts'
import { epochDayOf, instantMicrosOf } from '../../src/base/time/instant-micros.ts'
import { dayNumberFromText, dayText, isoText, monthOf, zoneOffsetMs } from '../../src/base/time/local-time.ts'
import { DAY, HOUR } from '../../src/base/time/units.ts'
import { createOffsetCompleter } from '../../src/intake/complete-offsets.ts'
import { exportFormats } from '../../src/intake/formats/known-formats.ts'
import { openNextSlots } from '../../src/pipeline/schedule/slot-watch.ts'
import { httpDateMsOf, retryAfterMsOf } from '../../src/pipeline/upstream/retry-after.ts'
import { localDateTextOf } from '../../src/pipeline/warehouse/readings/record-rows.ts'
import { exportWriters } from '../../src/service/sandbox/exports/export-writers.ts'
import { logsOf, samplePeople } from '../../src/service/sandbox/people/sample-people.ts'
import { entriesOf, fileOf, importOne } from '../support/health-files.ts'
import { scores } from '../support/stream-by-name.ts'

const sample = <T>(arbitrary: fc.Arbitrary<T>, numRuns = 3000): T[] => fc.sample(arbitrary, { seed: 20261124, numRuns })
/** Europe's, America's and Lord Howe's clocks change within these days. */
const endMs = Date.parse('2026-11-02T12:00:00Z')
const anyMs = fc.integer({ min: endMs - 400 * DAY, max: endMs + 400 * DAY })
const part = (max: number) => fc.integer({ min: 0, max }).map((number) => String(number).padStart(2, '0'))
/** Dates as people and programs write them, most of them of no form that is known. */
const dateTexts = fc
  .tuple(part(13), part(32), part(25), fc.constantFrom('-', '/', '.', ' '), fc.constantFrom('T', ' ', ', '))
  .chain(([month, day, hour, between, letter]) =>
    fc.constantFrom(
      `2026${between}${month}${between}${day}`,
      `2026${between}${month}${between}${day}${letter}${hour}:00:00`,
      `${day}${between}${month}${between}2026 ${hour}:30`,
      `Sun Nov ${day} ${hour}:49:37 2026`,
      `Nov ${day}, 2026 ${hour}:00 PM`,
      `2026-${month}-${day}T${hour}:00:00+05:30`,
    ),
  )

async function importedLogs(format: string): Promise<unknown> {
  const [person] = samplePeople('zones', 1)
  const logs = person ? logsOf(person, { startMs: endMs - 6 * HOUR, endMs }) : []
  const written = await exportWriters[format]?.(logs, 60)
  const files = written ? entriesOf(written.data) : []
  const read = []
  for (const { name, data } of files)
    read.push((await importOne(fileOf(name, data), { timeZone: 'Europe/London', formats: exportFormats })).logs)
  return [files.map(({ name }) => name), read]
}

function nextSlots(): unknown {
  const schedule = { NIGHTLY_CRON: '30 2 * * *', SCHEDULE_TIME_ZONE: 'Europe/Berlin' }
  const slots = openNextSlots(schedulesOf(readConfig(schedule).schedule))
  const found = sample(anyMs, 10).map((ms) => slots.find(ms))
  void slots.close()
  return found
}

const texts = sample(dateTexts)
const outcomes: Record<string, () => unknown> = {
  instants: () => texts.map((text) => [instantMicrosOf(text), epochDayOf(text), parseInstant(text)]),
  days: () => texts.map((text) => dayNumberFromText(text)),
  'days of invalid records': () => texts.map((text) => localDateTextOf(scores, { scoreDateTime: text })),
  'dates of HTTP': () => texts.map((text) => [httpDateMsOf(text), retryAfterMsOf(text, undefined, endMs)]),
  'wall times': () => texts.map(createOffsetCompleter('America/New_York')),
  'texts of instants': () =>
    sample(anyMs).map((ms) => {
      const instant = { epochMs: ms, offsetMinutes: -150 }
      return [isoText(ms, 330), formatInstant(instant), localDateOf(instant), dayText(Math.floor(ms / DAY))]
    }),
  months: () => sample(anyMs).map((ms) => monthOf(Math.floor(ms / DAY), 3)),
  zones: () => sample(anyMs, 500).map(zoneOffsetMs('Australia/Lord_Howe')),
  slots: nextSlots,
}
for (const format of Object.keys(exportWriters)) outcomes[`import of ${format}`] = () => importedLogs(format)

for (const [name, outcome] of Object.entries(outcomes)) {
  const hash = createHash('sha256')
    .update(JSON.stringify(await outcome()))
    .digest('hex')
  process.stdout.write(`${name}: ${hash}\n`)
}
process.stdout.write(`${new Date(0).getTimezoneOffset()}\n`)
