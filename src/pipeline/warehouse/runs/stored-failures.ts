import { z } from 'zod'
import { adviceFor } from '../../ledger/retry.ts'
import { type JobParams, paramsText, parseParamsText } from '../../transfer/order.ts'
import type { Pool } from '../postgres/warehouse-pool.ts'

/** A job that failed for good, or a window that upstream refused. */
export type RecordedFailure = {
  /** `job:42:sync-profile`, or `window:42:scores:<start>-<end>` in milliseconds since 1970. */
  id: string
  kind: 'job' | 'window'
  externalId: string
  /** As FailureFilter takes it. */
  cause: string
  subject: string
  /** The bounds of a window, or of the range of a back-fill. */
  startAt: Date | null
  endAt: Date | null
  /** The task of a failed back-fill, which a retry repeats. `streams` null: every stream; `again`: covered windows too. */
  backfill: { streams: string[] | null; again: boolean } | null
  status: number | null
  reason: string
  hint: string | null
  attempts: number
  firstAt: Date
  lastAt: Date
  /** Null: it is not tried again until an operator retries it. */
  nextTryAt: Date | null
}

export type FailureFilter = {
  readonly ids?: readonly string[] | undefined
  readonly reason?: string | undefined
  readonly profile?: string | undefined
  /** All of one cause: `causeSql` of kind, subject, status and reason. */
  readonly cause?: string | undefined
}

type PageFilter = FailureFilter & { readonly before?: string | undefined }

/** The key of a page: the time and the id of the last failure before it. */
export const failurePageKey = /^\d{1,18},(job|window):[\w:-]{1,200}$/

/** Names a cause of failures in a few letters, whatever upstream writes into a reason. */
export const causeSql = (row: string) =>
  `md5(${row}.kind || ' ' || ${row}.subject || ' ' || coalesce(${row}.status, 0) || ' ' || ${row}.reason)`

/** A back-fill of some profiles that repeats what failed; `failures` says how many failures it is for. */
export type RepeatableBackfill = { params: JobParams; profileIds: string[]; failures: number }

/** Failed jobs that a sweep repeats. Others are repeated when an operator retries them. */
const jobsOfSweep = "('sync-profile', 'register-profile')"

const allFailuresSql = `
  select 'job:' || f.profile_id || ':' || f.job as id, 'job' as kind, f.profile_id, f.job as subject,
    null::tstzrange as span, null::int as status, f.reason, f.hint, f.attempts, f.first_at, f.last_at,
    case when f.job in ${jobsOfSweep} then p.due_at else 'infinity' end as next_try_at,
    case when f.job = 'backfill-profile' then nullif(f.scope, '') end as backfill
  from vitalsync.failures f join vitalsync.profiles p on p.id = f.profile_id
  union all
  select 'window:' || r.profile_id || ':' || r.stream || ':' || (extract(epoch from lower(r.span)) * 1000)::bigint || '-' || (extract(epoch from upper(r.span)) * 1000)::bigint,
    'window', r.profile_id, r.stream, r.span, r.status, r.reason, null, r.attempts, r.first_at, r.last_at, r.next_try_at, null
  from vitalsync.refusals r`

const chosenFailuresSql = `select a.* from (${allFailuresSql}) a join vitalsync.profiles p on p.id = a.profile_id
  where ($1::text[] is null or a.id = any($1)) and ($2::text is null or a.reason ilike '%' || $2 || '%')
    and ($3::text is null or p.external_id = $3) and ($4::text is null or ${causeSql('a')} = $4)`

const valuesOf = ({ ids, reason, profile, cause }: FailureFilter) => [
  ids ?? null,
  reason?.replaceAll(/[\\%_]/g, '\\$&') ?? null,
  profile ?? null,
  cause ?? null,
]

const isSweptAgain = `(c.kind = 'job' and c.subject in ${jobsOfSweep} or c.kind = 'window' and upper(c.span) > p.wanted_from)`
const epochMs = (instant: string) => `(extract(epoch from ${instant}) * 1000)::float8`

/** A failed back-fill has params; the refused windows of a profile become one range. */
type BackfillRow = { profileId: string; failures: number } & (
  | { scope: string }
  | { scope: null; fromMs: number; toMs: number; streams: string[] }
)

const backfillsSql = `with chosen as materialized (${chosenFailuresSql})
  select c.profile_id::text as "profileId", 1 as failures, c.backfill as scope,
    null::float8 as "fromMs", null::float8 as "toMs", null::text[] as streams
  from chosen c where c.backfill is not null
  union all
  select c.profile_id::text, count(*)::int, null,
    ${epochMs('min(lower(c.span))')}, ${epochMs('max(upper(c.span))')}, array_agg(distinct c.subject)
  from chosen c join vitalsync.profiles p on p.id = c.profile_id
  where c.kind = 'window' and not ${isSweptAgain} group by c.profile_id`

const paramsOf = (row: BackfillRow): JobParams =>
  row.scope === null ? { from: row.fromMs, streams: row.streams, to: row.toMs } : parseParamsText(row.scope)

/** Profiles with equal params come together in one back-fill. */
async function listBackfills(pool: Pool, filter: FailureFilter): Promise<RepeatableBackfill[]> {
  const { rows } = await pool.query<BackfillRow>(backfillsSql, valuesOf(filter))
  const byProfile = rows.toSorted((a, b) => Number(a.profileId) - Number(b.profileId))
  const groups = Map.groupBy(byProfile, (row) => paramsText(paramsOf(row)))
  return [...groups].map(([text, group]) => ({
    params: parseParamsText(text),
    profileIds: [...new Set(group.map(({ profileId }) => profileId))],
    failures: group.reduce((sum, { failures }) => sum + failures, 0),
  }))
}

const FAILURES_PER_PAGE = 2000

/** `span`: of a window, as text. */
type ChosenFailure = {
  readonly id: string
  readonly kind: 'job' | 'window'
  readonly profileId: string
  readonly subject: string
  readonly span: string | null
  readonly isSwept: boolean
}

/** The chosen failures in pages by profile, each page in parts that one statement may change. */
async function* chosenFailures(pool: Pool, filter: FailureFilter): AsyncGenerator<ChosenFailure[]> {
  for (let after = { profileId: '0', id: '' }; ; ) {
    const { rows } = await pool.query<ChosenFailure>(
      `select c.id, c.kind, c.profile_id::text as "profileId", c.subject, c.span::text as span, ${isSweptAgain} as "isSwept"
       from (${chosenFailuresSql}) c join vitalsync.profiles p on p.id = c.profile_id
       where (c.profile_id, c.id collate "C") > ($5::int8, $6) order by c.profile_id, c.id collate "C"
       limit ${FAILURES_PER_PAGE}`,
      [...valuesOf(filter), after.profileId, after.id],
    )
    yield* pool.division.split(rows, ({ profileId }) => profileId)
    if (rows.length < FAILURES_PER_PAGE) return
    after = rows.at(-1) ?? after
  }
}

const profileIdsOf = (failures: readonly ChosenFailure[]) => [...new Set(failures.map(({ profileId }) => profileId))]

async function setNextTry(pool: Pool, failures: readonly ChosenFailure[], nextTrySql: string): Promise<void> {
  const windows = failures.filter(({ kind }) => kind === 'window')
  if (windows.length === 0) return
  await pool.query(
    `update vitalsync.refusals r set next_try_at = ${nextTrySql}
     from unnest($1::int8[], $2::text[], $3::tstzrange[]) as i(profile_id, stream, span)
     where r.profile_id = i.profile_id and r.stream = i.stream and r.span = i.span and r.profile_id = any($1)`,
    [windows.map(({ profileId }) => profileId), windows.map(({ subject }) => subject), windows.map(({ span }) => span)],
  )
}

async function retryFailures(pool: Pool, filter: FailureFilter): Promise<number> {
  let count = 0
  for await (const chosen of chosenFailures(pool, filter)) {
    await setNextTry(pool, chosen, 'statement_timestamp()')
    const swept = chosen.filter(({ isSwept }) => isSwept)
    if (swept.length > 0)
      await pool.query(
        'update vitalsync.profiles set due_at = least(due_at, statement_timestamp()) where id = any($1)',
        [profileIdsOf(swept)],
      )
    count += swept.length
  }
  return count
}

async function discardFailures(pool: Pool, filter: FailureFilter): Promise<number> {
  let count = 0
  for await (const chosen of chosenFailures(pool, filter)) {
    await setNextTry(pool, chosen, "'infinity'")
    const failed = chosen.filter(({ kind }) => kind === 'job')
    if (failed.length > 0)
      await pool.query(
        `delete from vitalsync.failures f using unnest($1::int8[], $2::text[]) as i(profile_id, job)
         where f.profile_id = i.profile_id and f.job = i.job and f.profile_id = any($1)`,
        [failed.map(({ profileId }) => profileId), failed.map(({ subject }) => subject)],
      )
    count += chosen.length
  }
  return count
}

type FailureRow = Omit<RecordedFailure, 'backfill'> & { readonly key: string; readonly backfill: string | null }

const backfillParams = z.object({
  from: z.number().optional(),
  to: z.number().optional(),
  streams: z.array(z.string()).optional(),
  again: z.boolean().optional(),
})

function failureOf({ key: _, backfill, ...row }: FailureRow): RecordedFailure {
  const hint = row.hint ?? adviceFor(row)
  if (backfill === null) return { ...row, hint, backfill }
  const { from, to, streams = null, again = false } = backfillParams.parse(parseParamsText(backfill))
  const instantOf = (ms: number | undefined) => (ms === undefined ? null : new Date(ms))
  return { ...row, hint, startAt: instantOf(from), endAt: instantOf(to), backfill: { streams, again } }
}

const keyMicros = '(extract(epoch from c.last_at) * 1000000)::int8'

async function listFailures(
  pool: Pool,
  { before, ...filter }: PageFilter,
  limit: number,
): Promise<Array<{ key: string; failure: RecordedFailure }>> {
  const [micros = null, id = null] = before?.split(',') ?? []
  const { rows } = await pool.query<FailureRow>(
    `with chosen as (${chosenFailuresSql})
     select c.id, c.kind, p.external_id as "externalId", ${causeSql('c')} as cause, ${keyMicros} || ',' || c.id as key, c.subject, lower(c.span) as "startAt", upper(c.span) as "endAt",
       c.status, c.reason, c.hint, c.attempts, c.first_at as "firstAt", c.last_at as "lastAt",
       nullif(c.next_try_at, 'infinity') as "nextTryAt", c.backfill
     from chosen c join vitalsync.profiles p on p.id = c.profile_id
     where $5::int8 is null or (${keyMicros}, c.id collate "C") < ($5, $6)
     order by c.last_at desc, c.id collate "C" desc limit $7`,
    [...valuesOf(filter), micros, id, limit],
  )
  return rows.map((row) => ({ key: row.key, failure: failureOf(row) }))
}

export function createFailures({ pool }: { pool: Pool }) {
  return {
    /** Newest first. */
    list: async (filter: FailureFilter, limit: number) =>
      (await listFailures(pool, filter, limit)).map(({ failure }) => failure),
    /** A page of the list. `nextBefore` continues it; null: it was the last. */
    async listPage(filter: PageFilter, limit: number) {
      const found = await listFailures(pool, filter, limit + 1)
      const shown = found.slice(0, limit)
      return {
        failures: shown.map(({ failure }) => failure),
        nextBefore: found.length > limit ? (shown.at(-1)?.key ?? null) : null,
      }
    },
    /** Failures that no sweep repeats: failed back-fills, and windows from before the history that a profile wants. */
    listBackfills: (filter: FailureFilter) => listBackfills(pool, filter),
    /** Makes refused windows due now, and the profiles that a sweep can help. Returns how many failures the sweep repeats. */
    retry: (filter: FailureFilter) => retryFailures(pool, filter),
    /** Deletes failed jobs. Keeps refused windows, and never reads them again. Returns how many failures were chosen. */
    discard: (filter: FailureFilter) => discardFailures(pool, filter),
  }
}
