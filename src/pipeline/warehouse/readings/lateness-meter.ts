import { SECOND } from '../../../base/time/units.ts'
import { LATENESS_BINS, type LatenessCounts, noLatenessCounts } from '../../ledger/lateness.ts'
import type { PulledStream } from '../../transfer/stream.ts'
import { binaryColumn } from '../postgres/binary-format.ts'
import type { Pool } from '../postgres/warehouse-pool.ts'

/** Adds up what committed readings show of upstream's lateness, and writes it down every few seconds. */
export type LatenessMeter = ReturnType<typeof openLatenessMeter>

type MeterOptions = { readonly pool: Pool; readonly account: string }

const FLUSH_MS = 5 * SECOND

/**
 * Counts are kept in memory for seconds, and not written in the commits of the readings: every commit would wait there for
 * the same few rows. A process that is killed loses the counts of these seconds; silent differences are not among them.
 */
export function openLatenessMeter(options: MeterOptions) {
  let totals = new Map<PulledStream, LatenessCounts>()
  let timer: NodeJS.Timeout | undefined
  let flushing = Promise.resolve()

  const add = (counts: ReadonlyMap<PulledStream, LatenessCounts>) => {
    for (const [stream, more] of counts) addTo(totals, stream, more)
    if (totals.size > 0) timer ??= setTimeout(flushLater, FLUSH_MS).unref()
  }
  const flushLater = () => {
    timer = undefined
    flushing = flushing.then(flush)
  }
  const flush = async () => {
    const taken = totals
    totals = new Map()
    try {
      await addLateness(options, taken)
    } catch {
      // The database is away for a moment: the statements of the readings fail too, and the counts are written later.
      for (const [stream, counts] of taken) addTo(totals, stream, counts)
    }
  }
  return {
    add,
    /** Writes the counts that were added since the last time. */
    async close() {
      clearTimeout(timer)
      await flushing
      await flush()
    },
  }
}

function addTo(totals: Map<PulledStream, LatenessCounts>, stream: PulledStream, more: LatenessCounts): void {
  const sums = totals.get(stream) ?? noLatenessCounts()
  totals.set(stream, sums)
  for (const kind of ['seen', 'came', 'changed'] as const) {
    for (let bin = 0; bin < LATENESS_BINS; bin += 1) sums[kind][bin] = (sums[kind][bin] ?? 0) + (more[kind][bin] ?? 0)
  }
}

/** Adds counts to those of today. Rows are written in one order, so that processes never wait for one another in a circle. */
async function addLateness(
  { pool, account }: MeterOptions,
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

const binRowsOf = (stream: string, { seen, came, changed }: LatenessCounts) =>
  Array.from({ length: LATENESS_BINS }, (_, bin) => ({
    stream,
    bin,
    seen: seen[bin] ?? 0,
    came: came[bin] ?? 0,
    changed: changed[bin] ?? 0,
  })).filter((row) => row.seen + row.came + row.changed > 0)
