import { type LatenessBinCount, type SettleSettings, type SettleTime, settleTimeOf } from '../../ledger/settle-time.ts'
import type { PulledStream } from '../../transfer/stream.ts'
import type { Pool } from '../postgres/warehouse-pool.ts'
import { unsettleRecentDays } from './unsettle-recent-days.ts'

type SettleOptions = {
  readonly pool: Pool
  /** Digest of upstream's address and the client id. */
  readonly account: string
  readonly settle: SettleSettings
  readonly streams: readonly PulledStream[]
}

/** How long a count is used. */
export const COUNTED_DAYS = 60

/**
 * Recomputes the settle times that no process has computed in the last minutes, and makes recent days due again where upstream was late
 * for many profiles. Each step is committed on its own, apart from all readings. To store a settle time takes the stream for these
 * minutes. A process that dies after that leaves the other steps to the next one that takes the stream.
 */
export async function refreshSettleTimes(options: SettleOptions): Promise<void> {
  for (const stream of await listDue(options)) {
    await storeSettleTime(options, stream, await measureStream(options, stream))
    await unsettleRecentDays(options, stream)
  }
}

/** The streams that were counted, and whose settle time is not fresh. */
async function listDue({ pool, account, streams }: SettleOptions): Promise<PulledStream[]> {
  const { rows: fresh } = await pool.query<{ stream: string }>(
    `select stream from vitalsync.settle_times
     where account = $1 and computed_at > clock_timestamp() - interval '10 minutes'`,
    [account],
  )
  const stale = streams.filter(({ kind, name }) => kind === 'windowed' && !fresh.some(({ stream }) => stream === name))
  if (stale.length === 0) return []
  const { rows: counted } = await pool.query<{ stream: string }>(
    'select distinct stream from vitalsync.lateness where account = $1 and stream = any($2)',
    [account, stale.map(({ name }) => name)],
  )
  return stale.filter(({ name }) => counted.some(({ stream }) => stream === name))
}

type MeasuredTime = SettleTime & { readonly days: number }

/** Older counts do not count, whether they are deleted yet or not. */
const ofStream = `account = $1 and stream = $2 and observed_on >= (clock_timestamp() at time zone 'UTC')::date - ${COUNTED_DAYS}`

async function measureStream({ pool, account, settle }: SettleOptions, stream: PulledStream): Promise<MeasuredTime> {
  const { rows } = await pool.query<LatenessBinCount & { days: number }>(
    `select bin, sum(seen)::float8 as seen, sum(came + changed)::float8 as changes,
       (select count(distinct observed_on)::int from vitalsync.lateness where ${ofStream}) as days
     from vitalsync.lateness where ${ofStream} group by bin order by bin`,
    [account, stream.name],
  )
  const days = rows[0]?.days ?? 0
  return { ...settleTimeOf({ counts: rows, days, fallbackMs: stream.settleMs, settings: settle }), days }
}

async function storeSettleTime(
  { pool, account }: SettleOptions,
  stream: PulledStream,
  time: MeasuredTime,
): Promise<void> {
  await pool.query(
    `insert into vitalsync.settle_times as t
       (account, stream, settle_ms, basis, fallback_ms, days, watched, changed_later, computed_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, clock_timestamp())
     on conflict (account, stream) do update set settle_ms = excluded.settle_ms, basis = excluded.basis,
       fallback_ms = excluded.fallback_ms, days = excluded.days, watched = excluded.watched,
       changed_later = excluded.changed_later, computed_at = excluded.computed_at`,
    [
      account,
      stream.name,
      time.settleMs,
      time.basis,
      stream.settleMs,
      time.days,
      Math.round(time.watched),
      Math.round(time.changedLater),
    ],
  )
}

/**
 * Writes the settle times of the catalogue to where the views and reports look them up. Nothing is written where they are equal: each
 * node of a divided warehouse has a copy, and a write needs all nodes.
 */
export async function storeSettleFallbacks(pool: Pool, streams: readonly PulledStream[]): Promise<void> {
  const values = [streams.map(({ name }) => name), streams.map(({ settleMs }) => settleMs)]
  const others = `unnest($1::text[], $2::float8[]) as u(stream, settle_ms) where d.stream = u.stream and d.settle_ms <> u.settle_ms`
  const { rowCount } = await pool.query(`select from vitalsync.day_streams d, ${others} limit 1`, values)
  if (rowCount === 0) return
  await pool.query(`update vitalsync.day_streams d set settle_ms = u.settle_ms from ${others}`, values)
}
