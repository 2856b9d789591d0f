import { ending, openOrders, type PlacedOrder, placeOrders } from './orders.ts'
import type { Pool } from './pool.ts'
import type { ProfilePage } from './profiles.ts'

export type RunParams = Readonly<Record<string, unknown>>
export type Run = {
  readonly id: string
  readonly kind: string
  readonly params: RunParams
  readonly state: 'running' | 'done' | 'failed' | 'stopped'
  readonly startedAt: Date
  readonly endedAt: Date | null
  readonly enqueued: number
  readonly enqueuedAll: boolean
  readonly afterId: string
  readonly done: number
  readonly failed: number
  /** Windows and items that upstream refused within jobs that went on. */
  readonly refused: number
  readonly requests: number
  readonly rowsRead: number
  readonly rowsWritten: number
  readonly itemsPushed: number
}

export type Runs = {
  start(kind: string, params: RunParams): Promise<Run>
  /** Takes a cron slot for this process: a run, or undefined when the slot was taken before. */
  claimSlot(schedule: string, slotAt: Date): Promise<Run | undefined>
  lastSlot(schedule: string): Promise<Date | undefined>
  get(runId: string): Promise<Run | undefined>
  /** Runs whose producer died before it had enqueued everybody. */
  unproduced(idleMs: number): Promise<Run[]>
  /** Runs that were produced in full and of which nothing was heard for a while, though not all their jobs were. */
  silent(idleMs: number): Promise<Run[]>
  /** Notes what a run wants done, before the queue hears of it, and how far its producer came. */
  order(runId: string, page: { orders: readonly PlacedOrder[]; afterId: string }): Promise<void>
  /** Whose jobs of the run have not ended yet, in pages by id. */
  open(runId: string, afterId: string, limit: number): Promise<ProfilePage>
  /** What else is ordered for a person, by any run, besides who it is for. */
  scopesOf(profileId: string): Promise<string[]>
  /** Shows life, so that no other process takes the run over while its producer only waits. */
  touch(runId: string): Promise<void>
  /** Everybody was enqueued: the run ends with the last of its jobs. */
  orderedAll(runId: string): Promise<void>
  /** Ends a run early; what it had ordered is no longer waited for. */
  end(runId: string, state: 'done' | 'failed' | 'stopped'): Promise<void>
}

const columns = `id, kind, params, state, started_at as "startedAt", ended_at as "endedAt", enqueued::float8 as enqueued,
  enqueued_all as "enqueuedAll", after_id as "afterId", done::float8 as done, failed::float8 as failed, refused::float8 as refused,
  requests::float8 as requests, rows_read::float8 as "rowsRead", rows_written::float8 as "rowsWritten",
  items_pushed::float8 as "itemsPushed"`

export function openRuns({ pool }: { pool: Pool }): Runs {
  return {
    async start(kind, params) {
      const { rows } = await pool.query(
        `insert into vitalsync.runs (kind, params) values ($1, $2) returning ${columns}`,
        [kind, params],
      )
      return rows[0]
    },
    claimSlot: (schedule, slotAt) => claimSlot(pool, schedule, slotAt),
    async lastSlot(schedule) {
      const { rows } = await pool.query('select max(slot_at) as at from vitalsync.slots where schedule = $1', [
        schedule,
      ])
      return rows[0].at ?? undefined
    },
    async get(runId) {
      const { rows } = await pool.query(`select ${columns} from vitalsync.runs where id = $1`, [runId])
      return rows[0]
    },
    async unproduced(idleMs) {
      const { rows } = await pool.query(
        `select ${columns} from vitalsync.runs where state = 'running' and not enqueued_all
           and touched_at < clock_timestamp() - $1 * interval '1 millisecond' order by id`,
        [idleMs],
      )
      return rows
    },
    async silent(idleMs) {
      const { rows } = await pool.query(
        `select ${columns} from vitalsync.runs where state = 'running' and enqueued_all
           and touched_at < clock_timestamp() - $1 * interval '1 millisecond' order by id`,
        [idleMs],
      )
      return rows
    },
    order: (runId, page) => placeOrders(pool, runId, page),
    open: (runId, afterId, limit) => openOrders(pool, runId, { afterId, limit }),
    async scopesOf(profileId) {
      const { rows } = await pool.query('select distinct scope from vitalsync.orders where profile_id = $1', [
        profileId,
      ])
      return rows.map((row) => row.scope)
    },
    async touch(runId) {
      await pool.query('update vitalsync.runs set touched_at = clock_timestamp() where id = $1', [runId])
    },
    async orderedAll(runId) {
      await pool.query('update vitalsync.runs set enqueued_all = true, touched_at = clock_timestamp() where id = $1', [
        runId,
      ])
      await pool.query(`update vitalsync.runs r set ${ending('0')} where id = $1`, [runId])
    },
    async end(runId, state) {
      await pool.query(
        `update vitalsync.runs set state = $2, ended_at = clock_timestamp() where id = $1 and state = 'running'`,
        [runId, state],
      )
      await pool.query('delete from vitalsync.orders where run_id = $1', [runId])
    },
  }
}

async function claimSlot(pool: Pool, schedule: string, slotAt: Date): Promise<Run | undefined> {
  const { rows } = await pool.query(
    `with claimed as (
       insert into vitalsync.slots (schedule, slot_at) values ($1, $2) on conflict do nothing returning slot_at
     ), run as (
       insert into vitalsync.runs (kind, params)
       select $1, jsonb_build_object('slotAt', to_char(slot_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')) from claimed
       returning *
     )
     select ${columns} from run`,
    [schedule, slotAt],
  )
  if (rows[0]) {
    await pool.query('update vitalsync.slots set run_id = $3 where schedule = $1 and slot_at = $2', [
      schedule,
      slotAt,
      rows[0].id,
    ])
  }
  return rows[0]
}
