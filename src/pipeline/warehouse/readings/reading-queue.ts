import type { WorkOrigin } from '../../../base/monitoring/traced-work.ts'
import { profileStreamKey } from '../ledger/ledger-rows.ts'
import type { Division } from '../postgres/warehouse-pool.ts'
import type { PreparedReading } from './record-rows.ts'
import type { StoreResult } from './store-group.ts'

/** A reading that waits for its commit, and the promise that its job waits for. */
export type QueueEntry = {
  readonly reading: PreparedReading
  /** The job that read it, in the trace. */
  readonly origin: WorkOrigin
  readonly resolve: (stored: StoreResult) => void
  readonly reject: (error: unknown) => void
}

const ROWS_PER_COMMIT_MAX = 5000

/** The readings that wait for their commit, in the order of arrival. */
export class ReadingQueue {
  private waiting: QueueEntry[] = []
  private waitingRows = 0
  /** The ledger rows that commits under way have locked: another reading of the same ledger row would only wait. */
  private readonly lockedKeys = new Set<string>()
  private readonly division: Division

  constructor(division: Division) {
    this.division = division
  }

  get isEmpty(): boolean {
    return this.waiting.length === 0
  }

  get rowCount(): number {
    return this.waitingRows
  }

  /** Resolves when the reading is committed, by the group that it is taken with. */
  add(reading: PreparedReading, origin: WorkOrigin): Promise<StoreResult> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ reading, origin, resolve, reject })
      this.waitingRows += reading.rows.length
    })
  }

  /**
   * Takes the next readings to commit together, and locks their ledger rows here until `unlock`. At most one reading per profile
   * and stream, for a statement cannot write the same record twice.
   */
  takeGroup(): QueueEntry[] {
    const group: QueueEntry[] = []
    const rest: QueueEntry[] = []
    let rows = 0
    let groupKey: number | undefined
    for (const queued of this.waiting) {
      const key = profileStreamKey(queued.reading)
      const divisionKey = this.division.keyOf(queued.reading.profileId)
      const fits = rows === 0 || rows + queued.reading.rows.length <= ROWS_PER_COMMIT_MAX
      if (fits && divisionKey === (groupKey ?? divisionKey) && !this.lockedKeys.has(key)) {
        groupKey = divisionKey
        this.lockedKeys.add(key)
        group.push(queued)
        rows += queued.reading.rows.length
      } else rest.push(queued)
    }
    this.waiting = rest
    this.waitingRows -= rows
    return group
  }

  unlock(group: readonly QueueEntry[]): void {
    for (const { reading } of group) this.lockedKeys.delete(profileStreamKey(reading))
  }
}
