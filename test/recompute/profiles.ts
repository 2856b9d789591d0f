import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import type { DataLogInput } from '../../src/contract/data-log.ts'
import { derive } from '../../src/service/derive/derive.ts'
import { type Person, unknownPerson } from '../../src/service/derive/log.ts'
import { startRecompute } from '../../src/service/recompute/recompute.ts'
import { deleteLogs, storeLogs } from '../../src/service/store/logs.ts'
import { openPool, type Pool } from '../../src/service/store/pool.ts'
import { logOf } from '../derive/logs.ts'

export const quiet = pino({ level: 'silent' })

export type World = {
  pool: Pool
  databaseUrl: string
  /** Milliseconds since 1970; a test may move it. */
  clock: { now: number }
  recompute: Awaited<ReturnType<typeof startRecompute>>
}

/** A database with an account, and a recomputation that works only when it is asked to be idle. */
export async function withRecompute(
  databaseUrl: string,
  at: string,
  use: (world: World) => Promise<void>,
): Promise<void> {
  const pool = openPool({ databaseUrl, log: quiet, connectionsMax: 4, statementTimeoutMs: 60_000 })
  const clock = { now: Date.parse(at) }
  const recompute = await startRecompute({ pool, databaseUrl, log: quiet, clock: () => clock.now, everyMs: 3_600_000 })
  try {
    await use({ pool, databaseUrl, clock, recompute })
  } finally {
    await recompute.close()
    await pool.end()
  }
}

export async function createProfile(pool: Pool): Promise<string> {
  const [accountId, profileId] = [randomUUID(), randomUUID()]
  await pool.query('insert into service.accounts values ($1, $2, now())', [accountId, accountId])
  await pool.query('insert into service.profiles values ($1, $2, $3, false, now())', [profileId, accountId, profileId])
  return profileId
}

export async function upload({ pool, clock }: World, profileId: string, logs: readonly DataLogInput[]): Promise<void> {
  for (let from = 0; from < logs.length; from += 1000) {
    await storeLogs(pool, { profileId, logs: logs.slice(from, from + 1000), now: new Date(clock.now) })
  }
}

export async function remove(
  { pool, clock }: World,
  profileId: string,
  logs: readonly { id: string }[],
): Promise<void> {
  await deleteLogs(pool, { profileId, ids: logs.map(({ id }) => id), now: new Date(clock.now) })
}

export type Row = {
  id: string
  kind: string
  version: number
  created_at: Date
  changed_at: Date
  body: Record<string, unknown>
}

export async function rowsOf({ pool }: World, profileId: string): Promise<Row[]> {
  const { rows } = await pool.query<Row>(
    'select id, kind, version, created_at, changed_at, body::json as body from service.derived where profile_id = $1 order by id',
    [profileId],
  )
  return rows
}

/** What is served, without the two fields that tell of the record's life and not of the logs. */
export async function saidOf(world: World, profileId: string): Promise<Map<string, Record<string, unknown>>> {
  return new Map((await rowsOf(world, profileId)).map(({ id, body }) => [id, lifeless(body)]))
}

/** The same, derived from all logs at once by the pure function. */
export function saidAtOnce(
  profileId: string,
  logs: readonly DataLogInput[],
  nowMs: number,
  person: Person = unknownPerson,
): Map<string, Record<string, unknown>> {
  const derived = derive({ logs: logs.map(logOf), person, asOf: nowMs, profileId })
  const records = Object.values(derived).flat()
  return new Map(
    records
      .sort((a, b) => (String(a['id']) < String(b['id']) ? -1 : 1))
      .map((one) => [String(one['id']), lifeless(one)]),
  )
}

function lifeless({ createdAt: _, version: __, ...rest }: Record<string, unknown>): Record<string, unknown> {
  return rest
}
