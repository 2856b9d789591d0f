import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Parser } from 'htmlparser2'
import { DAY } from '../../src/base/time/units.ts'
import { appleHealth } from '../../src/intake/formats/apple-health/apple-health.ts'
import type { ExportFile, HealthFormat } from '../../src/intake/formats/export-format.ts'
import { FitMessages, TIMESTAMP } from '../../src/intake/formats/garmin-fit/fit-messages.ts'
import { garminFit } from '../../src/intake/formats/garmin-fit/garmin-fit.ts'
import { healthConnect } from '../../src/intake/formats/health-connect/health-connect.ts'
import { exportWriters } from '../../src/service/sandbox/exports/export-writers.ts'
import { logsOf, samplePeople } from '../../src/service/sandbox/people/sample-people.ts'
import { entriesOf, fileOf } from '../support/health-files.ts'
import { alternate, type Contestant, type Measure, median, type RoundOptions, ratioOf, rounded } from './measure.ts'

const CHUNK_BYTES = 256 * 1024
const RECORDS_GOAL = 60_000
const RSS_GOAL_MB = 300

/**
 * Health exports, read and mapped, each beside the bare decoder of its file in the same run. Rates are records in a second of
 * processor time, so that neighbours on the machine do not count.
 */
export async function run({ quick, say }: RoundOptions): Promise<readonly Measure[]> {
  const days = quick ? 20 : 60
  const endMs = Date.parse('2026-04-05T12:00:00Z')
  const [person] = samplePeople('bench', 1)
  const logs = person ? logsOf(person, { startMs: endMs - days * DAY, endMs }) : []
  const partsOf = async (name: string) => entriesOf((await exportWriters[name]?.(logs, 60))?.data ?? Buffer.alloc(4))
  const xml = repeatedBody(String((await partsOf('apple-health'))[0]?.data), quick ? 4 : 8)
  const files = (await partsOf('garmin-fit')).map(({ data }) => data)
  const fit = Buffer.concat(Array.from({ length: 100 }, () => files).flat())
  const database = (await partsOf('health-connect'))[0]?.data ?? Buffer.alloc(0)
  const contestants = [
    readerOf(appleHealth, fileOf('export.xml', xml, CHUNK_BYTES)),
    bareSax(xml),
    readerOf(garminFit, fileOf('all.fit', fit, CHUNK_BYTES), messagesIn(fit)),
    bareFit(fit),
    readerOf(healthConnect, fileOf('export.db', database, CHUNK_BYTES), await rowsIn(database)),
    bareSqlite(database),
  ]
  const figures = await alternate(contestants, { rounds: quick ? 3 : 9, say })
  return [
    ...comparison(figures, {
      ours: 'apple-health',
      bare: 'bare SAX parser',
      goal: RECORDS_GOAL,
      ratioGoal: 0.76,
    }),
    ...comparison(figures, { ours: 'garmin-fit', bare: 'bare FIT decoder', goal: RECORDS_GOAL, ratioGoal: 0.38 }),
    ...comparison(figures, { ours: 'health-connect', bare: 'bare SQLite', goal: RECORDS_GOAL, ratioGoal: 0.7 }),
    await peakMemory(xml, quick ? 200 : 1000),
  ]
}

/** The records of an export several times over, in one document. */
function repeatedBody(text: string, times: number): Buffer {
  const begin = text.indexOf(' <Record')
  const end = text.indexOf('</HealthData>')
  return Buffer.from(`${text.slice(0, begin)}${text.slice(begin, end).repeat(times)}${text.slice(end)}`)
}

/** How many records a second of processor time takes. */
async function rateOf(work: () => Promise<number> | number): Promise<number> {
  const before = process.cpuUsage()
  const records = await work()
  const { user, system } = process.cpuUsage(before)
  return (records * 1e6) / (user + system)
}

async function readAll(format: HealthFormat, file: ExportFile): Promise<number> {
  const head = { name: file.name, text: '', bytes: Buffer.alloc(0) }
  let records = 0
  for await (const batch of format.read(file, { head, localInstant: (atMs) => ({ atMs, offsetMinutes: 0 }) }))
    records += batch.records.length
  return records
}

/** Its rate by its own records, or by as many parts of the file as its bare decoder counts. */
const readerOf = (format: HealthFormat, file: ExportFile, parts?: number): Contestant => ({
  name: format.name,
  measure: () =>
    rateOf(async () => {
      const records = await readAll(format, file)
      return parts ?? records
    }),
})

const bareSax = (xml: Buffer): Contestant => ({
  name: 'bare SAX parser',
  measure: () =>
    rateOf(() => {
      let records = 0
      const parser = new Parser(
        {
          onopentag: (name) => {
            if (name === 'Record' || name === 'Workout') records += 1
          },
        },
        { xmlMode: true, decodeEntities: true },
      )
      for (let at = 0; at < xml.length; at += CHUNK_BYTES) parser.write(xml.toString('utf8', at, at + CHUNK_BYTES))
      parser.end()
      return records
    }),
})

/** Decodes all messages, each to a map of all its fields. */
function messagesIn(bytes: Buffer): number {
  const messages = new FitMessages(bytes, 'all.fit')
  let count = 0
  while (messages.next()) {
    const fields = new Map<number, number>()
    for (const field of messages.fieldNumbers()) {
      const value = messages.get(field)
      if (value !== undefined) fields.set(field, value)
    }
    if (messages.timestamp !== undefined) fields.set(TIMESTAMP, messages.timestamp)
    count += fields.size > 0 ? 1 : 0
  }
  return count
}

const bareFit = (bytes: Buffer): Contestant => ({
  name: 'bare FIT decoder',
  measure: () => rateOf(() => messagesIn(bytes)),
})

/** The rows of all tables, as SQLite gives them. */
async function rowsIn(bytes: Buffer): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-bench-'))
  try {
    const path = join(folder, 'bench.db')
    await writeFile(path, bytes)
    const database = new DatabaseSync(path, { readOnly: true })
    const tables = database.prepare("select name from sqlite_schema where name like '%_table'").all()
    let rows = 0
    for (const { name } of tables)
      for (const _row of database.prepare(`select * from "${String(name)}"`).iterate()) rows += 1
    database.close()
    return rows
  } finally {
    await rm(folder, { recursive: true })
  }
}

const bareSqlite = (bytes: Buffer): Contestant => ({
  name: 'bare SQLite',
  measure: () => rateOf(() => rowsIn(bytes)),
})

type Comparison = { readonly ours: string; readonly bare: string; readonly goal: number; readonly ratioGoal: number }

function comparison(
  figures: ReadonlyMap<string, readonly number[]>,
  { ours, bare, goal, ratioGoal }: Comparison,
): Measure[] {
  const rate = median(figures.get(ours) ?? [])
  const ratio = rounded(ratioOf(figures, ours, bare))
  const shown = { unit: 'records/s of one core', against: null, goal: null, holds: null, ratio: null }
  return [
    {
      name: `${ours}, read and mapped`,
      value: Math.round(rate),
      unit: 'records/s of one core',
      ratio,
      against: bare,
      goal: `${goal} and ${ratioGoal}`,
      holds: rate >= goal && ratio >= ratioGoal,
    },
    { ...shown, name: bare, value: Math.round(median(figures.get(bare) ?? [])) },
  ]
}

/** The peak memory of the process while it read an export of this many megabytes from a disk. */
async function peakMemory(xml: Buffer, megabytes: number): Promise<Measure> {
  const body = xml.subarray(xml.indexOf(' <Record'), xml.lastIndexOf('</HealthData>'))
  const times = Math.ceil((megabytes * 1e6) / body.length)
  globalThis.gc?.()
  const before = process.memoryUsage().rss
  let most = before
  const file: ExportFile = {
    name: 'export.xml',
    sizeBytes: times * body.length,
    open: async () =>
      (async function* () {
        yield Buffer.from('<HealthData>')
        for (let time = 0; time < times; time += 1)
          for (let at = 0; at < body.length; at += CHUNK_BYTES) {
            most = Math.max(most, process.memoryUsage.rss())
            yield Buffer.from(body.subarray(at, at + CHUNK_BYTES))
          }
        yield Buffer.from('</HealthData>')
      })(),
  }
  await readAll(appleHealth, file)
  const grownMb = Math.round((most - before) / 1e6)
  return {
    name: `memory that ${megabytes} MB of Apple Health take`,
    value: grownMb,
    unit: 'MB more than before',
    ratio: null,
    against: null,
    goal: `≤ ${RSS_GOAL_MB}`,
    holds: grownMb <= RSS_GOAL_MB,
  }
}
