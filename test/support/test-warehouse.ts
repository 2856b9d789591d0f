import pg from 'pg'
import { catalogue } from '../../config/streams.ts'
import { DAY, HOUR } from '../../src/base/time/units.ts'
import { type EndedJob, noCounts } from '../../src/pipeline/transfer/order.ts'
import type { Reading } from '../../src/pipeline/transfer/reading.ts'
import { createLedger, type Ledger } from '../../src/pipeline/warehouse/ledger/coverage-ledger.ts'
import { createOutbox, type Outbox } from '../../src/pipeline/warehouse/outbox/outbox.ts'
import { openWarehousePool, type Pool } from '../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { createProfiles, type Profiles } from '../../src/pipeline/warehouse/profiles/stored-profiles.ts'
import { openReadingWriter, type ReadingWriter } from '../../src/pipeline/warehouse/readings/reading-writer.ts'
import { createRuns, type Runs } from '../../src/pipeline/warehouse/runs/stored-runs.ts'
import { test as base } from './fixtures.ts'
import { type StreamName, scores } from './stream-by-name.ts'
import { testDivision } from './test-pool.ts'

export type Warehouse = {
  pool: Pool
  writer: ReadingWriter
  ledger: Ledger
  outbox: Outbox
  profiles: Profiles
  runs: Runs
  /** Epoch milliseconds of this machine, on which the database runs too. */
  startedAtMs: number
  rows(text: string, values?: unknown[]): Promise<Array<Record<string, unknown>>>
  /** Adds profiles and returns their ids, in the order of the names. */
  addProfiles(...externalIds: string[]): Promise<string[]>
  /** Adds this many profiles whose readings share their transactions. */
  addNeighbours(count: number): Promise<string[]>
  covered(profileId: string, stream: StreamName): Promise<string>
}

/** People are wanted from this instant on: as a fixed instant, it stays before March 2026 on any day. */
export const wantedFromMs = Date.parse('2025-12-01T00:00:00Z')

/** Records dated by day, old enough to have settled: March 2026. */
export const march = (day: number, time = '00:00:00Z') => `2026-03-${String(day).padStart(2, '0')}T${time}`
export const marchMs = (day: number, time = '00:00:00Z') => Date.parse(march(day, time))

export type ScoreLike = { type?: string; scoreDateTime: string; value?: unknown; [more: string]: unknown }
export const scoreRecord = (fields: ScoreLike) => ({ type: 'sleep', value: 0.5, state: 'medium', ...fields })

/** As the defaults of `config/env.ts`, but that the first reading after a push comes after an hour. */
export const settle = { minMs: 6 * HOUR, maxMs: 240 * HOUR, intervalsMs: [HOUR, 2 * HOUR, DAY] }

type Given = Partial<Omit<Reading, 'records'>> & { profileId: string; sentAtMs: number; records: object[] }

/** A reading of scores for the first days of March; `sentAtMs` is when its request went out. */
export function scoresReading({ records, ...given }: Given): Reading {
  return {
    stream: scores,
    window: { startMs: marchMs(1), endMs: marchMs(5) },
    generation: 0,
    serverAtMs: given.sentAtMs,
    word: undefined,
    tag: undefined,
    unchanged: false,
    invalid: [],
    records: records.map((record) => ({ raw: JSON.stringify(record), fields: { ...record } })),
    ...given,
  }
}

/** One reading may mark any share of the records gone. */
export const believing = { goneShareMax: 1, spacingMs: 0 }

export const openTestWriter = (pool: Pool): ReadingWriter =>
  openReadingWriter({
    pool,
    now: Date.now,
    rowsPerCommit: 1000,
    commitsAtOnce: 2,
    belief: believing,
    settle,
    account: 'test',
  })

export const test = base.extend<{ warehouse: Warehouse }>({
  warehouse: async ({ warehouseUrl }, use) => {
    const options = {
      databaseUrl: warehouseUrl,
      division: testDivision,
      connectionsMax: 8,
      name: 'test',
      pipeline: true,
    }
    const pool = openWarehousePool(options)
    const profiles = createProfiles({ pool, catalogue, tokenKeys: [Buffer.alloc(32, 7)] })
    const writer = openTestWriter(pool)
    const rows: Warehouse['rows'] = async (text, values) => (await pool.query(text, values)).rows
    const addProfiles: Warehouse['addProfiles'] = async (...externalIds) => {
      await profiles.add(externalIds, { wantedFrom: new Date(wantedFromMs), state: 'active' })
      const found = await Promise.all(externalIds.map((externalId) => profiles.findId(externalId)))
      return found.map((profile) => profile?.profileId ?? '')
    }
    await use({
      pool,
      writer,
      profiles,
      rows,
      ledger: createLedger({ pool, catalogue, firstReadingMs: HOUR }),
      outbox: createOutbox({ pool, catalogue, firstReadingMs: HOUR, now: Date.now }),
      runs: createRuns({ pool }),
      startedAtMs: Date.now(),
      addProfiles,
      async addNeighbours(count) {
        for (let ids: string[] = []; ; ) {
          ids = [
            ...ids,
            ...(await addProfiles(...Array.from({ length: count }, (_, n) => `neighbour-${ids.length + n}`))),
          ]
          const neighbours = pool.division.split(ids, (id) => id).find((part) => part.length >= count)
          // A cluster draws ids in an order of its own.
          if (neighbours)
            return neighbours.slice(0, count).toSorted((neighbour, other) => Number(neighbour) - Number(other))
        }
      },
      async covered(profileId, stream) {
        const [row] = await rows('select covered::text from vitalsync.ledger where profile_id = $1 and stream = $2', [
          profileId,
          stream,
        ])
        return String(row?.['covered'])
      },
    })
    await writer.close()
    await pool.end()
  },
})

/** A job that began a moment ago and did nothing; its run is not stored. */
export const endedJob = (profileId: string, more: Partial<EndedJob> = {}): EndedJob => ({
  profileId,
  runId: '0',
  job: 'sync-profile',
  params: {},
  begunAtMs: Date.now(),
  counts: noCounts,
  ...more,
})

/** In how many minutes the sweep looks at a profile again. */
export async function dueInMinutes({ rows }: Warehouse, profileId: string): Promise<number> {
  const [row] = await rows(
    'select extract(epoch from due_at - clock_timestamp())::float8 / 60 as minutes from vitalsync.profiles where id = $1',
    [profileId],
  )
  return Math.round(Number(row?.['minutes']))
}

/** A connection of the test's own, to hold locks with. */
export async function connect(databaseUrl: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: databaseUrl })
  client.on('error', () => undefined) // a test that fails leaves it open, and its database is dropped
  await client.connect()
  return client
}
