import { Readable } from 'node:stream'
import pg from 'pg'
import { catalogue, pushedStreams } from '../../config/streams.ts'
import { DAY } from '../../src/base/time/units.ts'
import { readEntries } from '../../src/intake/file-entries.ts'
import { importRows } from '../../src/intake/import-rows.ts'
import { fileRows } from '../../src/intake/outbox-items.ts'
import { migrateWarehouse } from '../../src/operations/migrate-warehouse.ts'
import type { PushedStream } from '../../src/pipeline/transfer/stream.ts'
import { createOutbox } from '../../src/pipeline/warehouse/outbox/outbox.ts'
import { openWarehousePool } from '../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { logsOf, samplePeople } from '../../src/service/sandbox/people/sample-people.ts'
import { insertPeople, peopleNames } from '../support/insert-people.ts'
import { testDivision } from '../support/test-pool.ts'
import { readCost, totalOf } from './cost.ts'
import { startEngines } from './engines.ts'
import { alternate, type Contestant, type Measure, measureBeside, type RoundOptions, spreadOf } from './measure.ts'

const LOGS = 40_000
const DAYS = 100
const WITH = 'import with the evidence of days'
const WITHOUT = 'import without'
const GOAL = 1.05

/** Importing a file of logs with the evidence of days, beside importing it without: processor time of this process and of Postgres. */
export async function run({ quick, say }: RoundOptions): Promise<readonly Measure[]> {
  const stream: PushedStream | undefined = pushedStreams.find(({ name }) => name === 'data-logs')
  if (!stream) throw new Error('log-days: no stream of data logs')
  const { evidenceOf: _, ...withoutEvidence } = stream
  const engines = await startEngines()
  try {
    const databaseUrl = await engines.database()
    await migrateWarehouse(databaseUrl, () => undefined)
    const client = new pg.Client({ connectionString: databaseUrl })
    await client.connect()
    const rounds = quick ? 5 : 30
    await insertPeople(client, peopleNames((rounds + 1) * 2, 'person-', 6), { state: `'active'` })
    const { rows: people } = await client.query<{ id: string }>('select id from vitalsync.profiles order by id')
    await client.end()
    const pool = openWarehousePool({
      databaseUrl,
      division: testDivision,
      connectionsMax: 4,
      name: 'bench',
      pipeline: true,
      statementTimeoutMs: 600_000,
    })
    const outbox = createOutbox({ pool, catalogue, firstReadingMs: DAY, now: Date.now })
    const file = fileOfOne()
    const contestants = [
      { name: WITH, imported: stream },
      { name: WITHOUT, imported: withoutEvidence },
    ].map(
      ({ name, imported }): Contestant => ({
        name,
        async measure() {
          const profileId = people.pop()?.id ?? ''
          await engines.settle()
          const before = readCost()
          const { read } = await importRows(
            fileRows(readEntries({ bytes: Readable.from([file]), format: 'ndjson', begin: { position: 0, line: 0 } }), {
              stream: imported,
              format: 'ndjson',
              completeOffset: (text) => text,
              replace: false,
              nowMs: Date.now(),
            }),
            { position: 0, line: 0, read: 0, accepted: 0, duplicate: 0, rejected: 0 },
            {
              resolve: async () => new Map([['one', { profileId }]]),
              add: outbox.add,
              reject: ([row]) => Promise.reject(new Error(row?.reason)),
              progressed: async () => undefined,
              signal: new AbortController().signal,
            },
          )
          if (read !== LOGS) throw new Error(`log-days: ${read} of ${LOGS} logs were read`)
          return totalOf(before, readCost()) / LOGS
        },
      }),
    )
    const figures = await alternate(contestants, { rounds, say })
    await pool.end()
    for (const [name, values] of figures) say(`  ${name.padEnd(40)} ${spreadOf(values)} µs a log`)
    return [measureBeside(figures, { ours: WITH, against: WITHOUT, unit: 'µs a log', goal: { most: GOAL } })]
  } finally {
    await engines.close()
  }
}

/** The logs of one person in the order of time, as an app writes them. */
function fileOfOne(): Buffer {
  const [person] = samplePeople('bench', 1)
  if (!person) throw new Error('log-days: nobody has logs')
  const endMs = Date.parse('2026-04-05T12:00:00Z')
  const logs = logsOf(person, { startMs: endMs - DAYS * DAY, endMs }).slice(0, LOGS)
  return Buffer.from(logs.map((log) => `${JSON.stringify({ externalId: 'one', ...log })}\n`).join(''))
}
