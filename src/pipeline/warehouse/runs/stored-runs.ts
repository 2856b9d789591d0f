import { JOB_FORM } from '../../transfer/order.ts'
import type { Pool } from '../postgres/warehouse-pool.ts'
import { listOpenOrders, listOrdersOf } from './open-orders.ts'
import { createProductions } from './production.ts'
import { countWorkLeft } from './work-left.ts'

export type RunParams = Readonly<Record<string, unknown>>

/** A row of `vitalsync.runs`, as `runColumns` selects it. */
export type Run = {
  readonly id: string
  readonly kind: string
  readonly params: RunParams
  /** As `JOB_FORM` of the version that orders its jobs. */
  readonly form: number
  readonly state: 'running' | 'done' | 'failed' | 'stopped'
  readonly startedAt: Date
  readonly endedAt: Date | null
  readonly enqueued: number
  readonly enqueuedAll: boolean
  readonly afterId: string
  readonly done: number
  readonly failed: number
  /** Windows and items that upstream refused, in jobs that continued after the refusal. */
  readonly refused: number
  readonly requests: number
  /** Requests that upstream answered by saying that nothing has changed. */
  readonly unchanged: number
  readonly rowsRead: number
  readonly rowsWritten: number
  readonly itemsPushed: number
  /** Items that jobs of other runs pushed for profiles whose order of this run was open. */
  readonly itemsPushedElsewhere: number
}

const runColumns = `id, kind, params, form, state, started_at as "startedAt", ended_at as "endedAt", enqueued::float8 as enqueued,
  enqueued_all as "enqueuedAll", after_id as "afterId", done::float8 as done, failed::float8 as failed, refused::float8 as refused,
  requests::float8 as requests, unchanged::float8 as unchanged, rows_read::float8 as "rowsRead", rows_written::float8 as "rowsWritten",
  items_pushed::float8 as "itemsPushed", items_pushed_elsewhere::float8 as "itemsPushedElsewhere"`

export type Runs = ReturnType<typeof createRuns>

export function createRuns({ pool }: { pool: Pool }) {
  return {
    ...createProductions(pool),
    create: (kind: string, params: RunParams) => insertRun(pool, kind, params),
    /** Claims a cron slot and creates its run; undefined when the slot was claimed before, by whatever process. */
    claimSlot: (schedule: string, slotAt: Date, params: RunParams = {}) =>
      claimSlot(pool, { schedule, slotAt, params }),
    /** Claims a cron slot for which no run is needed. It is forgotten with this run. */
    async skipSlot({ schedule, slotAt, runId }: SkippedSlot) {
      await pool.query(
        'insert into vitalsync.slots (schedule, slot_at, run_id) values ($1, $2, $3) on conflict do nothing',
        [schedule, slotAt, runId],
      )
    },
    async lastSlot(schedule: string) {
      const { rows } = await pool.query<{ at: Date | null }>(
        'select max(slot_at) as at from vitalsync.slots where schedule = $1',
        [schedule],
      )
      return rows[0]?.at ?? undefined
    },
    async get(runId: string): Promise<Run | undefined> {
      const [run] = await selectRuns(pool, 'where id = $1', runId)
      return run
    },
    listNewest: (limit: number, kind?: string) =>
      selectRuns(pool, 'where $2::text is null or kind = $2 order by id desc limit $1', limit, kind ?? null),
    /** The newest run of each kind, the newest first. */
    listNewestOfKinds: () =>
      selectRuns(pool, 'where id in (select max(id) from vitalsync.runs group by kind) order by id desc'),
    /** How many requests a profile took in the newest run of this kind that is done. */
    async requestsPerProfile(kind: string) {
      const { rows } = await pool.query<{ requests: number }>(
        `select requests::float8 / done as requests from vitalsync.runs
         where kind = $1 and state = 'done' and done > 0 order by id desc limit 1`,
        [kind],
      )
      return rows[0]?.requests
    },
    /** Requests a second in the latest runs that were long enough to say; undefined when there is none. */
    measuredRequestRate: () => measuredRequestRate(pool),
    /**
     * Running runs that showed no life for `idleMs` and are not enqueued in full: their producers died. Runs of a newer version are
     * left to it, here and below.
     */
    listUnproduced: (idleMs: number) => selectRuns(pool, `where not enqueued_all and ${isIdle} order by id`, idleMs),
    /** Running runs that showed no life for `idleMs` though they are enqueued in full: not all their jobs have ended. */
    listSilent: (idleMs: number) => selectRuns(pool, `where enqueued_all and ${isIdle} order by id`, idleMs),
    /**
     * The nightlies of the last day whose slot no sentinel has claimed, though they are enqueued in full and showed no life for
     * `idleMs`. They show life from now on, so that nobody else takes them.
     */
    takeUnwatched: (idleMs: number) => takeUnwatched(pool, idleMs),
    /** The orders of a run whose jobs have not ended yet, in pages by profile. */
    listOpenOrders: (runId: string, afterId: string, limit: number) => listOpenOrders(pool, runId, { afterId, limit }),
    /** The open orders of a profile, of any run; equal orders of several runs are listed once. */
    listOrdersOf: (profileId: string) => listOrdersOf(pool, profileId),
    workLeft: (run: Run) => countWorkLeft(pool, run),
    /** A sign of life: no other process takes the run over while its producer waits. */
    async heartbeat(runId: string) {
      await pool.query('update vitalsync.runs set touched_at = clock_timestamp() where id = $1', [runId])
    },
    /** Ends a run early and deletes its open orders; nothing more is enqueued for it. */
    end: (runId: string, state: 'done' | 'failed' | 'stopped') => endRun(pool, runId, state),
  }
}

const isIdle = `state = 'running' and form <= ${JOB_FORM} and touched_at < clock_timestamp() - $1 * interval '1 millisecond'`

async function selectRuns(pool: Pool, clauses: string, ...values: Array<string | number | null>): Promise<Run[]> {
  const { rows } = await pool.query<Run>(`select ${runColumns} from vitalsync.runs ${clauses}`, values)
  return rows
}

async function takeUnwatched(pool: Pool, idleMs: number): Promise<Run[]> {
  const { rows } = await pool.query<Run>(
    `update vitalsync.runs r set touched_at = clock_timestamp()
     where kind = 'nightly' and enqueued_all and state <> 'stopped' and params ? 'slotAt'
       and touched_at < clock_timestamp() - $1 * interval '1 millisecond' and started_at > clock_timestamp() - interval '1 day'
       and not exists (select from vitalsync.slots s
         where s.schedule = 'sentinel' and s.slot_at = (r.params ->> 'slotAt')::timestamptz)
     returning ${runColumns}`,
    [idleMs],
  )
  return rows
}

async function insertRun(pool: Pool, kind: string, params: RunParams): Promise<Run> {
  const { rows } = await pool.query<Run>(
    `insert into vitalsync.runs (kind, form, params) values ($1, ${JOB_FORM}, $2) returning ${runColumns}`,
    [kind, params],
  )
  const [run] = rows
  if (run === undefined) throw new Error(`create run ${kind}: the database returned no row`)
  return run
}

/** A shorter run measures its start and end, not how fast it reads. */
const MEASURED_REQUESTS_MIN = 50
const MEASURED_RUNS_MAX = 5

async function measuredRequestRate(pool: Pool): Promise<number | undefined> {
  const { rows } = await pool.query<{ rate: number | null }>(
    `select sum(requests)::float8 / nullif(sum(extract(epoch from ended_at - started_at)), 0)::float8 as rate from (
       select requests, started_at, ended_at from vitalsync.runs
       where state = 'done' and ended_at is not null and requests >= $1 order by id desc limit $2
     ) latest`,
    [MEASURED_REQUESTS_MIN, MEASURED_RUNS_MAX],
  )
  return rows[0]?.rate ?? undefined
}

type ClaimedSlot = { readonly schedule: string; readonly slotAt: Date; readonly params: RunParams }

async function claimSlot(pool: Pool, { schedule, slotAt, params }: ClaimedSlot): Promise<Run | undefined> {
  const { rows } = await pool.query<Run>(
    `with claimed as (
       insert into vitalsync.slots (schedule, slot_at) values ($1, $2) on conflict do nothing returning slot_at
     ), run as (
       insert into vitalsync.runs (kind, form, params)
       select $1, ${JOB_FORM}, jsonb_build_object('slotAt', to_char(slot_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')) || $3
       from claimed
       returning *
     )
     select ${runColumns} from run`,
    [schedule, slotAt, params],
  )
  const [run] = rows
  if (run) {
    await pool.query('update vitalsync.slots set run_id = $3 where schedule = $1 and slot_at = $2', [
      schedule,
      slotAt,
      run.id,
    ])
  }
  return run
}

type SkippedSlot = { readonly schedule: string; readonly slotAt: Date; readonly runId: string }

async function endRun(pool: Pool, runId: string, state: 'done' | 'failed' | 'stopped'): Promise<void> {
  await pool.query(
    `update vitalsync.runs set state = $2, ended_at = clock_timestamp() where id = $1 and state = 'running'`,
    [runId, state],
  )
  // After its end a producer that is under way records no order.
  await pool.query('delete from vitalsync.orders where run_id = $1', [runId])
}
