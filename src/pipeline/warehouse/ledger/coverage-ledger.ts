import { createBatcher } from '../../../base/postgres/batcher.ts'
import { type Span, type SpanPairs, spansFromPairs } from '../../../base/time/spans.ts'
import { DAY, HOUR } from '../../../base/time/units.ts'
import { dueWindows } from '../../ledger/planner.ts'
import type { EndedJob } from '../../transfer/order.ts'
import type { PlannedProfile, ProfileState } from '../../transfer/planned-profile.ts'
import type { DueWindow } from '../../transfer/reading.ts'
import type { Catalogue, PulledStream, PushedStream } from '../../transfer/stream.ts'
import { backoffSql, epochMsSql, spanPairsSql } from '../postgres/sql-time.ts'
import { namedSql, type Pool, queryByIndex, transaction } from '../postgres/warehouse-pool.ts'
import { createFinisher, type FailureReason, recordFailure } from './ended-jobs.ts'
import { falseTagsSql } from './ledger-rows.ts'
import { heldTagOf, type PlannedTag } from './reading-tags.ts'

type PlanRequest = {
  readonly profileId: string
  readonly nowMs: number
  /** The names of the streams to plan; absent, all streams. */
  readonly streams?: readonly string[] | undefined
  /** A span to cover instead of everything that is wanted up to now. */
  readonly range?: Span | undefined
  /** Plans covered spans too. */
  readonly again?: boolean | undefined
}

type RefusedWindow = {
  readonly profileId: string
  readonly stream: string
  readonly window: Span
  readonly status: number | undefined
  readonly reason: string
}

export type Ledger = ReturnType<typeof createLedger>

const WINDOWS_PER_PLAN_MAX = 500

type LedgerOptions = { readonly pool: Pool; readonly catalogue: Catalogue; readonly firstReadingMs: number }

type LedgerRow = {
  stream: string
  covered: SpanPairs
  generation: number
  digesting: SpanPairs
  touched_at: number | null
  tagged: boolean
  /** When the stream was last read; before its first reading, when the profile was added. */
  last_at: number
}
type PlanRow = {
  id: string
  external_id: string
  state: ProfileState
  wanted_from: number
  ledger: LedgerRow[] | null
  /** Stream, start and end. No end when the window reached up to the moment of the refusal: later time is refused as well. */
  refused: Array<[string, number, number | null]> | null
  tags: PlannedTag[] | null
  waiting: string[]
}

/** `firstReadingMs`: how long after a push the first reading of what it touched counts. */
export function createLedger(options: LedgerOptions) {
  const { pushed, pulled } = options.catalogue
  const load = createBatcher({
    itemsMax: 500,
    batchesAtOnce: Math.min(2, options.pool.division.count), // few and large
    keyOf: options.pool.division.keyOf,
    run: (ids: readonly string[]) => loadPlans(options, ids),
  })
  return {
    /** The windows that are due for a profile; undefined when the profile is not ours, or no longer ours. */
    async plan(request: PlanRequest) {
      const row = await load(request.profileId)
      return row && { profile: toProfile(row, pushed), due: dueWindowsOf(options, row, request) }
    },
    /** Records that upstream refused a window, and when to ask again: an exponential backoff of at most a week. */
    recordRefusal: (refusal: RefusedWindow) => upsertRefusal(options.pool, refusal),
    /** Records that a job succeeded: forgets its failure, sets when the sweep looks at the profile again, counts for the run. */
    recordFinished: createFinisher({ ...options, streams: pulled.map(({ name }) => name) }),
    /** Records why a job failed. The sweep leaves the profile alone for a while, longer after each failure. */
    recordFailed: (ended: EndedJob, failure: FailureReason) => recordFailure(options.pool, ended, failure),
  }
}

const toProfile = (row: PlanRow, pushed: readonly PushedStream[]): PlannedProfile => ({
  profileId: row.id,
  externalId: row.external_id,
  state: row.state,
  waiting: pushed.filter(({ name }) => row.waiting.includes(name)),
})

/** Upstream dates some records at a day that has not begun yet where the person lives. They are read, but do not count as covered. */
const AHEAD_MS = 2 * DAY

/**
 * In the first moments after a push there is little use in reading. But a profile whose app pushes without end is read all
 * the same when its last reading is this old.
 */
const UNREAD_MAX_MS = 6 * HOUR

function dueWindowsOf(options: LedgerOptions, row: PlanRow, request: PlanRequest): DueWindow[] {
  const ledger = new Map((row.ledger ?? []).map((entry) => [entry.stream, entry]))
  return options.catalogue.pulled
    .filter((stream) => !request.streams || request.streams.includes(stream.name))
    .flatMap((stream) => {
      const entry = ledger.get(stream.name)
      if (!entry) return []
      const tags = entry.tagged ? (row.tags ?? []) : undefined
      const aheadMs = stream.kind === 'windowed' ? AHEAD_MS : 0
      const windows = dueWindows({
        wanted: request.range ?? { startMs: row.wanted_from, endMs: request.nowMs + aheadMs },
        covered: request.again ? [] : spansFromPairs(entry.covered),
        blocked: blockedSpans(row, entry, { nowMs: request.nowMs, ...options }),
        sizeMs: stream.windowMs,
        tagged: tags && taggedWindowsOf(stream, tags, request),
        windowsMax: WINDOWS_PER_PLAN_MAX,
      })
      const needed = stream.kind === 'snapshot' ? hullOf(windows) : windows
      return needed.map((window) => ({
        stream,
        window,
        generation: entry.generation,
        heldTag: tags && heldTagOf(tags, stream, window),
      }))
    })
}

/** A snapshot describes the present: one reading answers all due spans, newest to oldest. */
function hullOf(newestFirst: readonly Span[]): Span[] {
  const [newest, oldest] = [newestFirst[0], newestFirst.at(-1)]
  return newest && oldest ? [{ startMs: oldest.startMs, endMs: newest.endMs }] : []
}

/** How long a nightly reuses the same newest window (so that its ETag stays valid). */
const SAME_WINDOW_MS = 4 * DAY

/** A snapshot is asked for in one way, whatever the window. */
function taggedWindowsOf({ kind, name }: PulledStream, tags: readonly PlannedTag[], { range }: PlanRequest) {
  if (kind === 'snapshot') return undefined
  const windows = tags.flatMap(([stream, startMs, endMs]) => (stream === name ? [{ startMs, endMs }] : []))
  return { windows, aheadMs: range ? 0 : SAME_WINDOW_MS }
}

type PlanTime = { readonly nowMs: number; readonly firstReadingMs: number }

function blockedSpans(row: PlanRow, entry: LedgerRow, { nowMs, firstReadingMs }: PlanTime): Span[] {
  const refusals = (row.refused ?? []).filter(([name]) => name === entry.stream)
  const refused = spansFromPairs(refusals.map(([, startMs, endMs]) => [startMs, endMs]))
  const isYoung = (entry.touched_at ?? 0) > nowMs - firstReadingMs && entry.last_at > nowMs - UNREAD_MAX_MS
  return isYoung ? [...refused, ...spansFromPairs(entry.digesting)] : refused
}

async function loadPlans(
  { pool, catalogue }: LedgerOptions,
  ids: readonly string[],
): Promise<Array<PlanRow | undefined>> {
  const rows = await queryByIndex<PlanRow>(pool, {
    name: 'load plans',
    text: plansStatement(pool),
    values: [ids, catalogue.pulled.map(({ name }) => name), catalogue.pushed.map(({ name }) => name)],
  })
  const byId = new Map(rows.map((row) => [row.id, row]))
  return ids.map((id) => byId.get(id))
}

const plansStatement = (pool: Pool) => `
  select p.id, p.external_id, p.state, ${epochMsSql('p.wanted_from')} as wanted_from,
    (select json_agg(json_build_object('stream', l.stream, 'generation', l.generation,
        'covered', ${spanPairsSql('l.covered')}, 'digesting', ${spanPairsSql('l.digesting')},
        'touched_at', ${epochMsSql('l.touched_at')},
        'tagged', l.tagged and not ${falseTagsSql}, 'last_at', ${epochMsSql('coalesce(l.read_at, p.added_at)')}))
      from vitalsync.ledger l where l.profile_id = p.id and ${namedSql(pool, 'l.profile_id', '$1')} and l.stream = any($2)) as ledger,
    (select json_agg(json_build_array(f.stream, ${epochMsSql('lower(f.span)')},
        case when upper(f.span) < f.last_at - interval '10 minutes' then ${epochMsSql('upper(f.span)')} end))
      from vitalsync.refusals f where f.profile_id = p.id and ${namedSql(pool, 'f.profile_id', '$1')} and f.next_try_at > statement_timestamp()) as refused,
    (select json_agg(json_build_array(t.stream, ${epochMsSql('t.from_at')}, ${epochMsSql('t.to_at')}, t.tag, t.request_hash))
      from vitalsync.reading_tags t where t.profile_id = p.id and ${namedSql(pool, 't.profile_id', '$1')}) as tags,
    array(select s from unnest($3::text[]) s where exists (select from vitalsync.parcels o
      where o.profile_id = p.id and ${namedSql(pool, 'o.profile_id', '$1')} and o.stream = s)) as waiting
  from vitalsync.profiles p where p.id = any($1)`

/** Windows shift from day to day: a refusal replaces the refusals that it overlaps and keeps their attempts, so the backoff keeps growing. */
async function upsertRefusal(pool: Pool, { profileId, stream, window, status, reason }: RefusedWindow): Promise<void> {
  const bounds = [window.startMs, window.endMs]
  await transaction(pool, async (tx) => {
    // Nothing is recorded for an erased profile, and concurrent refusals of one profile take turns.
    const { rows } = await tx.query('select from vitalsync.profiles where id = $1 for no key update', [profileId])
    if (rows.length === 0) return
    const { rows: former } = await tx.query<{ attempts: number; first_at: Date }>(
      `delete from vitalsync.refusals where profile_id = $1 and stream = $2
         and span && tstzrange(to_timestamp($3::float8 / 1000), to_timestamp($4::float8 / 1000))
       returning attempts, first_at`,
      [profileId, stream, ...bounds],
    )
    const attempts = 1 + Math.max(0, ...former.map((refusal) => refusal.attempts))
    await tx.query(
      `insert into vitalsync.refusals (profile_id, stream, span, status, reason, attempts, first_at, last_at, next_try_at)
       select $1, $2, tstzrange(to_timestamp($3::float8 / 1000), to_timestamp($4::float8 / 1000)), $5, $6, $7,
         coalesce((select min(at) from unnest($8::timestamptz[]) at), statement_timestamp()), statement_timestamp(),
         statement_timestamp() + ${backoffSql('$7::int4', '7 days')}`,
      [profileId, stream, ...bounds, status ?? null, reason, attempts, former.map((refusal) => refusal.first_at)],
    )
  })
}
