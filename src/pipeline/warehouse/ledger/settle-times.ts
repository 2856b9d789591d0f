import { LATENESS_BINS, type LatenessCounts } from '../../ledger/lateness.ts'
import { type LatenessBinCount, type SettleSettings, type SettleTime, settleTimeOf } from '../../ledger/settle-time.ts'
import type { PulledStream } from '../../transfer/stream.ts'
import { binaryColumn } from '../postgres/binary-format.ts'
import type { Pool } from '../postgres/warehouse-pool.ts'
import { unsettleRecentDays } from './unsettle-recent-days.ts'

type Where = { readonly pool: Pool; readonly account: string }

type BinRow = { stream: string; bin: number; seen: number; came: number; changed: number }

/** Adds counts to those of today. Rows are written in one order, so that processes never wait for one another in a circle. */
export async function addLateness(
  { pool, account }: Where,
  counts: ReadonlyMap<PulledStream, LatenessCounts>,
): Promise<void> {
  const rows = [...counts].flatMap(([{ name }, sums]) => binRowsOf(name, sums))
  if (rows.length === 0) return
  await pool.query({
    name: 'add lateness',
    text: `insert into vitalsync.lateness as l (account, stream, observed_on, bin, seen, came, changed)
      select $1, u.stream, (clock_timestamp() at time zone 'UTC')::date, u.bin, u.seen, u.came, u.changed
      from unnest($2::text[], $3::int2[], $4::int8[], $5::int8[], $6::int8[]) as u(stream, bin, seen, came, changed)
      order by u.stream, u.bin
      on conflict (account, stream, observed_on, bin) do update
        set seen = l.seen + excluded.seen, came = l.came + excluded.came, changed = l.changed + excluded.changed`,
    values: [
      account,
      binaryColumn('text', rows, ({ stream }) => stream),
      rows.map(({ bin }) => bin),
      binaryColumn('int8', rows, ({ seen }) => String(seen)),
      binaryColumn('int8', rows, ({ came }) => String(came)),
      binaryColumn('int8', rows, ({ changed }) => String(changed)),
    ],
  })
}

const binRowsOf = (stream: string, { seen, came, changed }: LatenessCounts): BinRow[] =>
  Array.from({ length: LATENESS_BINS }, (_, bin) => ({
    stream,
    bin,
    seen: seen[bin] ?? 0,
    came: came[bin] ?? 0,
    changed: changed[bin] ?? 0,
  })).filter((row) => row.seen + row.came + row.changed > 0)

type ComputeOptions = Where & { readonly settle: SettleSettings }

/** Recomputes the settle times of these streams, if no process has done so in the last minutes. Deletes old counts. */
export async function computeSettleTimes(options: ComputeOptions, streams: readonly PulledStream[]): Promise<void> {
  const { pool, account } = options
  const { rows: fresh } = await pool.query<{ stream: string }>(
    `select stream from vitalsync.settle_times
     where account = $1 and computed_at > clock_timestamp() - interval '10 minutes'`,
    [account],
  )
  const due = streams.filter(({ name }) => !fresh.some(({ stream }) => stream === name))
  if (due.length === 0) return
  await pool.query(`delete from vitalsync.lateness where observed_on < current_date - 60`)
  await pool.query(
    `delete from vitalsync.silent_differences where found_at < statement_timestamp() - interval '90 days'`,
  )
  for (const stream of due) {
    await storeSettleTime(options, stream, await measureStream(options, stream))
    await unsettleRecentDays(options, stream)
  }
}

type MeasuredTime = SettleTime & { readonly days: number }

async function measureStream({ pool, account, settle }: ComputeOptions, stream: PulledStream): Promise<MeasuredTime> {
  const { rows } = await pool.query<LatenessBinCount & { days: number }>(
    `select bin, sum(seen)::float8 as seen, sum(came + changed)::float8 as changes,
       (select count(distinct observed_on)::int from vitalsync.lateness where account = $1 and stream = $2) as days
     from vitalsync.lateness where account = $1 and stream = $2 group by bin order by bin`,
    [account, stream.name],
  )
  const days = rows[0]?.days ?? 0
  return { ...settleTimeOf({ counts: rows, days, fallbackMs: stream.settleMs, settings: settle }), days }
}

async function storeSettleTime({ pool, account }: Where, stream: PulledStream, time: MeasuredTime): Promise<void> {
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
