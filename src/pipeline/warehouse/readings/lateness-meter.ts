import { SECOND } from '../../../base/time/units.ts'
import { LATENESS_BINS, type LatenessCounts, noLatenessCounts } from '../../ledger/lateness.ts'
import type { SettleSettings } from '../../ledger/settle-time.ts'
import type { PulledStream } from '../../transfer/stream.ts'
import { addLateness, computeSettleTimes } from '../ledger/settle-times.ts'
import type { Pool } from '../postgres/warehouse-pool.ts'

/** Adds up what committed readings show of upstream's lateness, and writes it down every few seconds. */
export type LatenessMeter = {
  add(counts: ReadonlyMap<PulledStream, LatenessCounts>): void
  /** Writes the counts that were added since the last time. */
  close(): Promise<void>
}

export type MeterOptions = { readonly pool: Pool; readonly account: string; readonly settle: SettleSettings }

const FLUSH_MS = 5 * SECOND

/**
 * Counts are kept in memory for seconds, and not written in the commits of the readings: every commit would wait there for
 * the same few rows. A process that is killed loses the counts of these seconds; silent differences are not among them.
 */
export function openLatenessMeter(options: MeterOptions): LatenessMeter {
  let totals = new Map<PulledStream, LatenessCounts>()
  let timer: NodeJS.Timeout | undefined
  let flushing = Promise.resolve()
  const computation = createComputation(options)

  const add: LatenessMeter['add'] = (counts) => {
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
      return
    }
    computation.begin(taken.keys())
  }
  return {
    add,
    async close() {
      clearTimeout(timer)
      await flushing
      await flush()
      await computation.ended()
    },
  }
}

/**
 * Computes settle times from the counts that are written. Where that fails, the next call computes them too. It needs all nodes of a
 * divided warehouse: one that is silent holds it up, and later counts do not wait for it.
 */
function createComputation(options: MeterOptions) {
  const due = new Set<PulledStream>()
  let underWay: Promise<void> | undefined
  const compute = async () => {
    while (due.size > 0) {
      const streams = [...due]
      await computeSettleTimes(options, streams)
      for (const stream of streams) due.delete(stream)
    }
  }
  return {
    begin(streams: Iterable<PulledStream>) {
      for (const stream of streams) due.add(stream)
      underWay ??= compute()
        .catch(() => undefined)
        .finally(() => {
          underWay = undefined
        })
    },
    ended: () => underWay,
  }
}

function addTo(totals: Map<PulledStream, LatenessCounts>, stream: PulledStream, more: LatenessCounts): void {
  const sums = totals.get(stream) ?? noLatenessCounts()
  totals.set(stream, sums)
  for (const kind of ['seen', 'came', 'changed'] as const) {
    for (let bin = 0; bin < LATENESS_BINS; bin += 1) sums[kind][bin] = (sums[kind][bin] ?? 0) + (more[kind][bin] ?? 0)
  }
}
