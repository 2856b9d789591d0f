import pg from 'pg'
import { streams } from '../../config/streams.ts'
import { nothing } from '../../src/job.ts'
import type { StoreRequest } from '../../src/warehouse/commit.ts'
import { type Ledger, openLedger } from '../../src/warehouse/ledger.ts'
import type { EndedJob } from '../../src/warehouse/orders.ts'
import { type Outbox, openOutbox } from '../../src/warehouse/outbox.ts'
import { openPool, type Pool } from '../../src/warehouse/pool.ts'
import { openProfiles, type Profiles } from '../../src/warehouse/profiles.ts'
import { openRuns, type Runs } from '../../src/warehouse/runs.ts'
import { openWriter, type Writer } from '../../src/warehouse/writer.ts'
import { DAY, HOUR } from '../../src/window.ts'
import { test as base } from './fixtures.ts'
import { type StreamName, scores } from './streams.ts'

export type Warehouse = {
  pool: Pool
  writer: Writer
  ledger: Ledger
  outbox: Outbox
  profiles: Profiles
  runs: Runs
  /** Milliseconds since 1970, by this machine, which is the database's. */
  startedAtMs: number
  rows(text: string, values?: unknown[]): Promise<Array<Record<string, unknown>>>
  /** Takes people in and gives their ids, in the order of the names. */
  people(...externalIds: string[]): Promise<string[]>
  covered(profileId: string, stream: StreamName): Promise<string>
}

/** Records dated by day, old enough to have settled: March 2026. */
export const march = (day: number, time = '00:00:00Z') => `2026-03-${String(day).padStart(2, '0')}T${time}`
export const marchMs = (day: number, time = '00:00:00Z') => Date.parse(march(day, time))

export type ScoreLike = { type?: string; scoreDateTime: string; value?: unknown; [more: string]: unknown }
export const score = (fields: ScoreLike) => ({ type: 'sleep', value: 0.5, state: 'medium', ...fields })

type Given = Partial<Omit<StoreRequest, 'records'>> & { profileId: string; sentAtMs: number; records: object[] }

/** A reading of scores for the first days of March; `sentAtMs` is when its request went out. */
export function reading({ records, ...given }: Given): StoreRequest {
  return {
    stream: scores,
    window: { from: marchMs(1), to: marchMs(5) },
    generation: 0,
    serverAtMs: given.sentAtMs,
    odd: [],
    records: records.map((record) => ({ raw: JSON.stringify(record), fields: { ...record } })),
    ...given,
  }
}

export const test = base.extend<{ warehouse: Warehouse }>({
  warehouse: async ({ warehouseUrl }, use) => {
    const pool = openPool({ databaseUrl: warehouseUrl, connectionsMax: 8, name: 'test', pipeline: true })
    const profiles = openProfiles({ pool, streams })
    const writer = openWriter({ pool, now: Date.now, rowsPerCommit: 1000, commitsAtOnce: 2 })
    const rows: Warehouse['rows'] = async (text, values) => (await pool.query(text, values)).rows
    await use({
      pool,
      writer,
      profiles,
      rows,
      ledger: openLedger({ pool, streams }),
      outbox: openOutbox({ pool, streams, digestMs: HOUR }),
      runs: openRuns({ pool }),
      startedAtMs: Date.now(),
      async people(...externalIds) {
        await profiles.add(externalIds, { wantedFrom: new Date(Date.now() - 365 * DAY), state: 'active' })
        const found = await Promise.all(externalIds.map((externalId) => profiles.find(externalId)))
        return found.map((one) => one?.profileId ?? '')
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

/** A job of nobody's run that ended a moment ago, having done nothing. */
export const endedJob = (profileId: string, more: Partial<EndedJob> = {}): EndedJob => ({
  profileId,
  runId: undefined,
  job: 'sync-profile',
  scope: '',
  begunAtMs: Date.now(),
  counts: nothing,
  ...more,
})

/** A connection of the test's own, to hold locks with. */
export async function connect(databaseUrl: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: databaseUrl })
  client.on('error', () => undefined) // a test that fails leaves it open, and its database is dropped
  await client.connect()
  return client
}
