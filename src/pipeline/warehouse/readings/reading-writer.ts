import { metrics } from '@opentelemetry/api'
import { Rejected } from '../../../base/errors.ts'
import { currentOrigin, withSharedSpan } from '../../../base/monitoring/traced-work.ts'
import { sqlState } from '../../../base/postgres/postgres-errors.ts'
import { isFulfilled } from '../../../base/sleep.ts'
import { SECOND } from '../../../base/time/units.ts'
import type { SettleSettings } from '../../ledger/settle-time.ts'
import type { Belief } from '../../ledger/suspicion.ts'
import type { Reading } from '../../transfer/reading.ts'
import { isDataException } from '../postgres/sql-errors.ts'
import { type Pool, transactionAtOnce } from '../postgres/warehouse-pool.ts'
import { type LatenessMeter, openLatenessMeter } from './lateness-meter.ts'
import { driftOf } from './reading-drift.ts'
import { type QueueEntry, ReadingQueue } from './reading-queue.ts'
import { latestStartMsOf, type PreparedReading, toRecordRows } from './record-rows.ts'
import { mayBeUnstorable, separateStorable } from './storable-rows.ts'
import { type RowCounts, type StoreResult, storeGroup } from './store-group.ts'
import type { DriftWatch } from './stored-drift.ts'

export type ReadingWriter = ReturnType<typeof openReadingWriter>

type WriterOptions = {
  pool: Pool
  now(): number
  /** How many records must wait before a transaction starts while another is under way. */
  rowsPerCommit: number
  commitsAtOnce: number
  belief: Belief
  settle: SettleSettings
  /** Digest of upstream's address and the client id, by which lateness is counted. */
  account: string
  /** Absent: nothing is compared with what is known of the records. */
  drift?: Pick<DriftWatch, 'examinerOf' | 'isSettled' | 'countTypes'>
}

/**
 * Group commit: the readings of many concurrent jobs go to Postgres in one transaction, and each job waits for its own.
 * A group that the database refuses is halved until the refused reading is alone; the other readings lose nothing.
 */
export function openReadingWriter(given: WriterOptions) {
  const options = { ...given, meter: openLatenessMeter(given), countCommit: createCommitMetrics() }
  const queue = new ReadingQueue(options.pool.division)
  let underWay = 0
  let isScheduled = false
  const handedIn = new Set<Promise<StoreResult>>()

  const startCommits = () => {
    isScheduled = false
    while (!queue.isEmpty && underWay < options.commitsAtOnce) {
      if (underWay > 0 && queue.rowCount < options.rowsPerCommit) return
      const group = queue.takeGroup()
      if (group.length === 0) return
      underWay += 1
      void commitGroup(options, group).finally(() => {
        queue.unlock(group)
        underWay -= 1
        startCommits()
      })
    }
  }

  const storeReading = async (reading: Reading): Promise<StoreResult> => {
    const origin = currentOrigin()
    const prepared = prepareReading(reading, options.drift)
    const mayFail = prepared.rows.some(mayBeUnstorable)
    const stored = queue.add(mayFail ? await separateStorable(options.pool, prepared) : prepared, origin)
    // The jobs that are ready in this turn of the event loop share one transaction.
    if (!isScheduled) setImmediate(startCommits)
    isScheduled = true
    return stored
  }

  return {
    /** Resolves when the reading's rows and its ledger row are committed, both in one transaction. */
    store(reading: Reading): Promise<StoreResult> {
      const storing = storeReading(reading)
      handedIn.add(storing)
      void isFulfilled(storing).then(() => handedIn.delete(storing))
      return storing
    },
    /** Waits until every reading that was handed in is stored or rejected. */
    async close() {
      await Promise.allSettled(handedIn)
      await options.meter.close()
    },
  }
}

const examineNothing = { examinerOf: () => undefined, isSettled: () => false }

function prepareReading(
  reading: Reading,
  examiner: Pick<DriftWatch, 'examinerOf' | 'isSettled'> = examineNothing,
): PreparedReading {
  const { records, ...rest } = reading
  const { rows, invalid } = toRecordRows(reading.stream, records, latestStartMsOf(reading))
  const drift = driftOf(reading, { rows, unusable: invalid.length }, examiner)
  return { ...rest, rows, drift, invalid: [...reading.invalid, ...invalid] }
}

type CommitOptions = WriterOptions & {
  readonly meter: LatenessMeter
  readonly countCommit: ReturnType<typeof createCommitMetrics>
}

async function commitGroup(options: CommitOptions, group: readonly QueueEntry[]): Promise<void> {
  try {
    const readings = group.map(({ reading }) => reading)
    const begunAtMs = performance.now()
    const { results, lateness, counts } = await withSharedSpan('commit', sharedBy(group), () =>
      transactionAtOnce(options.pool, (tx, begun) =>
        storeGroup({ tx, begun }, readings, { ...options, nowMs: options.now() }),
      ),
    )
    options.meter.add(lateness)
    options.countCommit(counts, performance.now() - begunAtMs)
    options.drift?.countTypes(readings.filter((_, index) => hasStored.includes(results[index]?.outcome)))
    group.forEach((queued, index) => {
      const stored = results[index]
      if (stored) queued.resolve(stored)
    })
  } catch (error) {
    if (!isDataException(error)) return rejectAll(group, error)
    const alone = group.length === 1 ? group[0] : undefined
    if (alone) return storeWithoutRefused(options, alone, error)
    const middle = Math.ceil(group.length / 2)
    await commitGroup(options, group.slice(0, middle))
    await commitGroup(options, group.slice(middle))
  }
}

/** Counts the transactions that store readings, for the meter provider of the process. The labels are names of streams. */
function createCommitMetrics(): (counts: readonly RowCounts[], durationMs: number) => void {
  const meter = metrics.getMeter('vitalsync.warehouse')
  const durations = meter.createHistogram('vitalsync.commit.duration', { unit: 's' })
  const sizes = meter.createHistogram('vitalsync.commit.rows')
  const rows = meter.createCounter('vitalsync.rows')
  return (counts, durationMs) => {
    durations.record(durationMs / SECOND)
    sizes.record(counts.reduce((sum, { read }) => sum + read, 0))
    for (const { stream, read, written, gone } of counts) {
      const changes = { read, written, unchanged: Math.max(0, read - written), gone }
      for (const [change, count] of Object.entries(changes)) if (count > 0) rows.add(count, { stream, change })
    }
  }
}

const hasStored: ReadonlyArray<StoreResult['outcome'] | undefined> = ['stored', 'suspicious']

const sharedBy = (group: readonly QueueEntry[]) => ({
  attributes: {
    'vitalsync.commit.readings': group.length,
    'vitalsync.commit.rows': group.reduce((sum, { reading }) => sum + reading.rows.length, 0),
  },
  origins: group.map(({ origin }) => origin),
})

function rejectAll(group: readonly QueueEntry[], error: unknown): void {
  for (const { reject } of group) reject(error)
}

/** Finds the records of one reading that Postgres refuses, moves them to the invalid records, and stores the others. */
async function storeWithoutRefused(options: CommitOptions, queued: QueueEntry, refusal: unknown): Promise<void> {
  const reading = await separateStorable(options.pool, queued.reading)
  if (reading.rows.length === queued.reading.rows.length) return queued.reject(rejectedReading(refusal))
  await commitGroup(options, [{ ...queued, reading }])
}

/** No record of the reading is at fault by its text: the window is refused as a whole, and blocks nothing else. */
function rejectedReading(refusal: unknown): Rejected {
  return new Rejected(`store reading: Postgres refuses it (${sqlState(refusal)})`, {
    status: 0,
    hint: 'A constraint or trigger that was added to the warehouse may be in the way.',
    cause: refusal,
  })
}
