import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import type { DataLogInput } from '../../../src/base/contract/data-log.ts'
import type { Demographics } from '../../../src/service/derive/model/demographics.ts'
import { startRecompute } from '../../../src/service/recompute/start-recompute.ts'
import { storeDataLogs } from '../../../src/service/store/data-logs.ts'
import { createServicePool, type ServicePool, withTransaction } from '../../../src/service/store/service-pool.ts'
import { lockProfileRow } from '../../../src/service/store/service-profiles.ts'
import { derive } from '../derive/derive-at-once.ts'
import { logOf, unknownDemographics } from '../derive/made-logs.ts'

export const quiet = pino({ level: 'silent' })

export type RecomputeWorld = {
  pool: ServicePool
  databaseUrl: string
  /** Milliseconds since 1970; a test may move it. */
  clock: { now: number }
  recompute: Awaited<ReturnType<typeof startRecompute>>
}

/** A database with an account, and a recomputation that works only when it is asked to be idle. */
export async function withRecompute(
  databaseUrl: string,
  at: string,
  use: (world: RecomputeWorld) => Promise<void>,
): Promise<void> {
  const pool = createServicePool({ databaseUrl, log: quiet, connectionsMax: 4, statementTimeoutMs: 60_000 })
  const clock = { now: Date.parse(at) }
  const recompute = await startRecompute({ pool, databaseUrl, log: quiet, clock: () => clock.now, everyMs: 3_600_000 })
  try {
    await use({ pool, databaseUrl, clock, recompute })
  } finally {
    await recompute.close()
    await pool.end()
  }
}

/** A new profile, of an account of its own or of this one. */
export async function createProfile(pool: ServicePool, accountId: string = randomUUID()): Promise<string> {
  const profileId = randomUUID()
  await pool.query('insert into service.accounts values ($1, $2, now()) on conflict do nothing', [accountId, accountId])
  await pool.query(
    'insert into service.profiles (profile_id, account_id, external_id, search_text, created_at) values ($1, $2, $3, lower($3), now())',
    [profileId, accountId, profileId],
  )
  return profileId
}

export async function upload(
  { pool, clock }: RecomputeWorld,
  profileId: string,
  logs: readonly DataLogInput[],
): Promise<void> {
  for (let from = 0; from < logs.length; from += 1000) {
    await storeDataLogs(pool, { profileId, logs: logs.slice(from, from + 1000), nowAt: new Date(clock.now) })
  }
}

/** Deletes logs as if they had never been sent, and marks their days. */
export async function remove(
  { pool, clock }: RecomputeWorld,
  profileId: string,
  logs: readonly { id: string }[],
): Promise<void> {
  await withTransaction(pool, async (tx) => {
    await lockProfileRow(tx, profileId)
    await tx.query(
      `with deleted as (
         delete from service.logs where profile_id = $1 and id = any($2::uuid[]) returning start_day, end_day
       )
       insert into service.dirty_days (profile_id, local_day, marked_at)
       select distinct $1::uuid, start_day + n, $3::timestamptz
       from deleted cross join lateral generate_series(0, end_day - start_day) n
       on conflict (profile_id, local_day) do update set mark = excluded.mark`,
      [profileId, logs.map(({ id }) => id), new Date(clock.now)],
    )
  })
}

export type Row = {
  id: string
  kind: string
  version: number
  created_at: Date
  changed_at: Date
  body: Record<string, unknown>
}

export async function rowsOf({ pool }: RecomputeWorld, profileId: string): Promise<Row[]> {
  const { rows } = await pool.query<Row>(
    'select id, kind, version, created_at, changed_at, body::json as body from service.derived where profile_id = $1 order by id',
    [profileId],
  )
  return rows
}

/** The served records, without `createdAt` and `version`, which do not follow from the logs. */
export async function servedRecords(
  world: RecomputeWorld,
  profileId: string,
): Promise<Map<string, Record<string, unknown>>> {
  return new Map((await rowsOf(world, profileId)).map(({ id, body }) => [id, withoutVersion(body)]))
}

/** The same records, derived from all logs at once by the pure function. */
export function recordsAtOnce(
  profileId: string,
  logs: readonly DataLogInput[],
  nowMs: number,
  person: Demographics = unknownDemographics,
): Map<string, Record<string, unknown>> {
  const derived = derive({ logs: logs.map(logOf), demographics: person, asOfMs: nowMs, profileId })
  const records = Object.values(derived).flat()
  return new Map(
    records
      .sort((a, b) => (String(a['id']) < String(b['id']) ? -1 : 1))
      .map((record) => [String(record['id']), withoutVersion(record)]),
  )
}

function withoutVersion({ createdAt: _, version: __, ...rest }: Record<string, unknown>): Record<string, unknown> {
  return rest
}
