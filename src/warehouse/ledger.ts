import { type Span, spansOf } from '../coverage.ts'
import { dueWindows } from '../planner.ts'
import type { PulledStream } from '../stream.ts'
import { DAY, HOUR } from '../window.ts'
import { createBatch } from './batch.ts'
import { countEnded, type EndedJob } from './orders.ts'
import { type PushedStream, pushedStreams } from './outbox.ts'
import { type Pool, transaction } from './pool.ts'

export type PlannedProfile = {
  readonly profileId: string
  readonly externalId: string
  readonly state: 'new' | 'active' | 'gone'
  /** Of which streams something waited to be pushed. What comes in later makes the profile due again. */
  readonly waiting: readonly PushedStream[]
}

/** A window that is to be read, with the ledger's generation at the time of planning. */
export type DueWindow = { readonly stream: PulledStream; readonly window: Span; readonly generation: number }

export type Plan = { readonly profile: PlannedProfile; readonly due: readonly DueWindow[] }

export type PlanRequest = {
  readonly profileId: string
  readonly nowMs: number
  /** Only these streams; all when absent. */
  readonly streams?: readonly string[] | undefined
  /** A range to cover instead of everything wanted up to now. */
  readonly range?: Span | undefined
  /** Reads what is covered too. */
  readonly again?: boolean | undefined
}

export type Refusal = {
  readonly profileId: string
  readonly stream: string
  readonly window: Span
  readonly status: number | undefined
  readonly reason: string
}

export type Ledger = {
  /** What is due for a profile; undefined when it is not ours, or no longer. */
  plan(request: PlanRequest): Promise<Plan | undefined>
  /** Remembers that a window was refused, and when to ask again: later and later, for at most a week. */
  refuse(refusal: Refusal): Promise<void>
  /** The profile was dealt with: forgets its failure, computes when the sweep should look again, counts for the runs. */
  finish(ended: EndedJob): Promise<void>
  /** Remembers why a job did not succeed. The sweep leaves the profile alone for a while, longer each time. */
  fail(ended: EndedJob, failure: { reason: string; hint: string | undefined }): Promise<void>
}

const WINDOWS_PER_PLAN_MAX = 500

type LedgerRow = {
  stream: string
  covered: Pairs
  generation: number
  digesting: Pairs
  digested_at: number | null
  /** When it was last read; before that, when the person was taken in. */
  last_at: number
}
type Pairs = Parameters<typeof spansOf>[0]
type PlanRow = {
  id: string
  external_id: string
  state: PlannedProfile['state']
  wanted_from: number
  ledger: LedgerRow[] | null
  /** Stream, start and end; no end when it reached up to the moment of the refusal: then what came since is no better. */
  refused: Array<[string, number, number | null]> | null
  waiting: PushedStream[]
}

export function openLedger(options: { pool: Pool; streams: readonly PulledStream[] }): Ledger {
  const load = createBatch({ itemsMax: 500, atOnce: 2, run: (ids: readonly string[]) => loadPlans(options, ids) })
  const finish = createBatch({
    itemsMax: 1000,
    atOnce: 1,
    run: (items: readonly EndedJob[]) => finishAll(options.pool, items),
  })
  return {
    async plan(request) {
      const row = await load(request.profileId)
      return row && { profile: toProfile(row), due: dueOf(options.streams, row, request) }
    },
    refuse: (refusal) => keepRefusal(options.pool, refusal),
    finish,
    fail: (ended, failure) => keepFailure(options.pool, ended, failure),
  }
}

const toProfile = (row: PlanRow): PlannedProfile => ({
  profileId: row.id,
  externalId: row.external_id,
  state: row.state,
  waiting: row.waiting,
})

/** Upstream dates some records at a day that has not begun where the person lives. They are read, and not yet covered. */
const AHEAD_MS = 2 * DAY

/**
 * While upstream derives from what was pushed there is little use in reading it. But whoever pushes without end is
 * always being derived from, and is read all the same when the last reading is this old.
 */
const UNREAD_MAX_MS = 6 * HOUR

function dueOf(streams: readonly PulledStream[], row: PlanRow, request: PlanRequest): DueWindow[] {
  const ledger = new Map((row.ledger ?? []).map((entry) => [entry.stream, entry]))
  return streams
    .filter((stream) => !request.streams || request.streams.includes(stream.name))
    .flatMap((stream) => {
      const entry = ledger.get(stream.name)
      if (!entry) return []
      const aheadMs = stream.kind === 'windowed' ? AHEAD_MS : 0
      const wanted = request.range ?? { from: row.wanted_from, to: request.nowMs + aheadMs }
      const refusals = (row.refused ?? []).filter(([name]) => name === stream.name)
      const refused = spansOf(refusals.map(([, from, to]) => [from, to]))
      const isDigesting = (entry.digested_at ?? 0) > request.nowMs && entry.last_at > request.nowMs - UNREAD_MAX_MS
      const windows = dueWindows({
        wanted,
        covered: request.again ? [] : spansOf(entry.covered),
        blocked: isDigesting ? [...refused, ...spansOf(entry.digesting)] : refused,
        sizeMs: stream.windowMs,
        windowsMax: WINDOWS_PER_PLAN_MAX,
      })
      // A snapshot speaks of now: one reading answers for everything that is due.
      const asked = stream.kind === 'snapshot' ? windows.slice(0, 1) : windows
      return asked.map((window) => ({ stream, window, generation: entry.generation }))
    })
}

const epochMs = (instant: string) => `(extract(epoch from ${instant}) * 1000)::float8`
const pairs = (ranges: string) =>
  `(select json_agg(json_build_array(${epochMs('lower(r)')}, ${epochMs('upper(r)')})) from unnest(${ranges}) r)`

async function loadPlans(
  { pool, streams }: { pool: Pool; streams: readonly PulledStream[] },
  ids: readonly string[],
): Promise<Array<PlanRow | undefined>> {
  const { rows } = await pool.query<PlanRow>({
    name: 'load plans',
    text: `select p.id, p.external_id, p.state, ${epochMs('p.wanted_from')} as wanted_from,
        (select json_agg(json_build_object('stream', l.stream, 'generation', l.generation,
            'covered', ${pairs('l.covered')}, 'digesting', ${pairs('l.digesting')},
            'digested_at', ${epochMs("nullif(l.digested_at, '-infinity')")},
            'last_at', ${epochMs('coalesce(l.read_at, p.added_at)')}))
          from vitalsync.ledger l where l.profile_id = p.id and l.stream = any($2)) as ledger,
        (select json_agg(json_build_array(f.stream, ${epochMs('lower(f.span)')},
            case when upper(f.span) < f.last_at - interval '10 minutes' then ${epochMs('upper(f.span)')} end))
          from vitalsync.refusals f where f.profile_id = p.id and f.next_try_at > clock_timestamp()) as refused,
        array(select s from unnest($3::text[]) s where exists (select from vitalsync.parcels o
          where o.profile_id = p.id and o.stream = s)) as waiting
      from vitalsync.profiles p where p.id = any($1)`,
    values: [ids, streams.map((stream) => stream.name), pushedStreams],
  })
  const byId = new Map(rows.map((row) => [row.id, row]))
  return ids.map((id) => byId.get(id))
}

/** Windows shift from day to day: a refusal takes over from those it overlaps, so that the pauses go on growing. */
async function keepRefusal(pool: Pool, refusal: Refusal): Promise<void> {
  await pool.query(
    `with asked as (
       select p.id, tstzrange(to_timestamp($3::float8 / 1000), to_timestamp($4::float8 / 1000)) as span
       from vitalsync.profiles p where p.id = $1
     ), former as (
       delete from vitalsync.refusals f using asked a
       where f.profile_id = a.id and f.stream = $2 and f.span && a.span returning f.attempts, f.first_at
     ), tried as (
       select coalesce(max(attempts), 0) + 1 as attempts, coalesce(min(first_at), clock_timestamp()) as first_at from former
     )
     insert into vitalsync.refusals (profile_id, stream, span, status, reason, attempts, first_at, last_at, next_try_at)
     select a.id, $2, a.span, $5, $6, t.attempts, t.first_at, clock_timestamp(),
       clock_timestamp() + least(interval '15 minutes' * power(2, least(t.attempts - 1, 12)), interval '7 days')
     from asked a, tried t
     on conflict (profile_id, stream, span) do update set attempts = excluded.attempts, last_at = excluded.last_at`,
    [refusal.profileId, refusal.stream, refusal.window.from, refusal.window.to, refusal.status ?? null, refusal.reason],
  )
}

async function keepFailure(
  pool: Pool,
  ended: EndedJob,
  { reason, hint }: { reason: string; hint: string | undefined },
): Promise<void> {
  await transaction(pool, async (tx) => {
    await tx.query(
      `with noted as (
           insert into vitalsync.failures as f (profile_id, job, reason, hint, scope, first_at, last_at)
           select p.id, $2, $3, $4, $5, clock_timestamp(), clock_timestamp() from vitalsync.profiles p where p.id = $1
           on conflict (profile_id, job) do update set reason = excluded.reason, hint = excluded.hint,
             scope = excluded.scope, attempts = f.attempts + 1, last_at = excluded.last_at
           returning attempts
         )
         update vitalsync.profiles p set due_at = greatest(p.due_at, clock_timestamp()
             + least(interval '15 minutes' * power(2, least(noted.attempts - 1, 12)), interval '26 hours'))
         from noted where p.id = $1`,
      [ended.profileId, ended.job, reason, hint ?? null, ended.scope],
    )
    await countEnded(tx, [ended], 'failed')
  })
}

/**
 * When the sweep looks again: after the next nightly should have been there, or earlier, when a refused window may be
 * asked for again, when what was pushed and not read since has been digested, or when something still waits.
 */
async function finishAll(pool: Pool, items: readonly EndedJob[]): Promise<undefined[]> {
  const once = [...new Map(items.map((item) => [`${item.profileId} ${item.job}`, item])).values()]
  const ids = [once.map((item) => item.profileId), once.map((item) => item.runId ?? null), once.map((item) => item.job)]
  await transaction(pool, async (tx) => {
    await tx.query({
      name: 'finish profiles',
      text: `with input as (select * from unnest($1::int8[], $2::int8[], $3::text[]) as i(profile_id, run_id, job)),
        mended as (delete from vitalsync.failures f using input i where f.profile_id = i.profile_id and f.job = i.job),
        locked as (select p.id from vitalsync.profiles p where p.id = any($1) order by p.id for update)
        update vitalsync.profiles p set finished_at = clock_timestamp(), run_id = coalesce(i.run_id, p.run_id),
          due_at = least(
            clock_timestamp() + interval '26 hours',
            (select min(f.next_try_at) from vitalsync.refusals f
              where f.profile_id = p.id and f.next_try_at > clock_timestamp()),
            (select min(l.digested_at) from vitalsync.ledger l
              where l.profile_id = p.id and l.digesting <> '{}' and l.digested_at > coalesce(l.read_at, '-infinity')),
            (select clock_timestamp() + interval '5 minutes' from vitalsync.parcels o
              where o.profile_id = p.id limit 1))
        from input i, locked k where p.id = i.profile_id and k.id = p.id`,
      values: ids,
    })
    await countEnded(tx, items, 'done')
  })
  return []
}
