import type { Pool } from './pool.ts'

/** A job that ended without success, or a window that upstream would not give. */
export type Failure = {
  /** `job:42:sync-profile`, or `window:42:scores:<start>-<end>` in milliseconds since 1970. */
  id: string
  kind: 'job' | 'window'
  externalId: string
  subject: string
  startAt: Date | null
  endAt: Date | null
  status: number | null
  reason: string
  hint: string | null
  attempts: number
  firstAt: Date
  lastAt: Date
  /** Empty: it is not asked for again until a person says so. */
  nextTryAt: Date | null
}

export type FailureFilter = {
  readonly ids?: readonly string[] | undefined
  readonly reason?: string | undefined
  readonly profile?: string | undefined
}

/** A back-fill to be ordered again, of these people, and how many failures that answers. */
export type BackfillAgain = { params: Readonly<Record<string, unknown>>; profileIds: string[]; failures: number }

export type Failures = {
  /** Newest first; `after` is the id of the last one of the page before. */
  list(filter: FailureFilter, limit: number): Promise<Failure[]>
  /** What no sweep does by itself: failed back-fills as they were, and windows from before a person's history. */
  again(filter: FailureFilter): Promise<BackfillAgain[]>
  /** Lets refused windows be asked for now, and makes due whom the sweep can help. Says how many failures that answers. */
  retry(filter: FailureFilter): Promise<number>
  /** Jobs are forgotten; windows are remembered, but not asked for again. */
  discard(filter: FailureFilter): Promise<number>
}

/** Jobs that a sweep gives to whoever is due. Others are tried again when a person says so. */
const swept = "('sync-profile', 'register-profile')"

const all = `
  select 'job:' || f.profile_id || ':' || f.job as id, 'job' as kind, f.profile_id, f.job as subject,
    null::tstzrange as span, null::int as status, f.reason, f.hint, f.attempts, f.first_at, f.last_at,
    case when f.job in ${swept} then p.due_at else 'infinity' end as next_try_at
  from vitalsync.failures f join vitalsync.profiles p on p.id = f.profile_id
  union all
  select 'window:' || r.profile_id || ':' || r.stream || ':' || (extract(epoch from lower(r.span)) * 1000)::bigint || '-' || (extract(epoch from upper(r.span)) * 1000)::bigint,
    'window', r.profile_id, r.stream, r.span, r.status, r.reason, null, r.attempts, r.first_at, r.last_at, r.next_try_at
  from vitalsync.refusals r`

const chosen = `select a.* from (${all}) a join vitalsync.profiles p on p.id = a.profile_id
  where ($1::text[] is null or a.id = any($1)) and ($2::text is null or a.reason ilike '%' || $2 || '%')
    and ($3::text is null or p.external_id = $3)`

const valuesOf = ({ ids, reason, profile }: FailureFilter) => [
  ids ?? null,
  reason?.replaceAll(/[\\%_]/g, '\\$&') ?? null,
  profile ?? null,
]

const bySweep = `(c.kind = 'job' and c.subject in ${swept} or c.kind = 'window' and upper(c.span) > p.wanted_from)`
const ms = (instant: string) => `(extract(epoch from ${instant}) * 1000)::int8`

/** In the form of a scope, so that people who are to be read alike come together. A person's windows become one range. */
const again = `with chosen as materialized (${chosen}), wanted as (
  select c.profile_id, f.scope, 1 as failures
  from chosen c join vitalsync.failures f on f.profile_id = c.profile_id and f.job = c.subject
  where c.kind = 'job' and c.subject = 'backfill-profile' and f.scope <> ''
  union all
  select c.profile_id, json_build_array(json_build_array('from', ${ms('min(lower(c.span))')}),
    json_build_array('streams', array_agg(distinct c.subject)), json_build_array('to', ${ms('max(upper(c.span))')}))::text, count(*)::int
  from chosen c join vitalsync.profiles p on p.id = c.profile_id
  where c.kind = 'window' and not ${bySweep} group by c.profile_id
)
select scope, array_agg(profile_id::text order by profile_id) as "profileIds", sum(failures)::int as failures
from wanted group by scope order by min(profile_id)`

const toBackfill = ({ scope, ...rest }: Omit<BackfillAgain, 'params'> & { scope: string }): BackfillAgain => ({
  ...rest,
  params: Object.fromEntries(JSON.parse(scope)),
})

export function openFailures({ pool }: { pool: Pool }): Failures {
  const change = async (filter: FailureFilter, changes: string, counted: 'chosen' | 'swept' = 'chosen') => {
    const { rows } = await pool.query(
      `with chosen as materialized (${chosen}), ${changes} select count(*)::int as n from ${counted}`,
      valuesOf(filter),
    )
    return rows[0].n as number
  }
  return {
    async list(filter, limit) {
      const { rows } = await pool.query(
        `with chosen as (${chosen})
         select c.id, c.kind, p.external_id as "externalId", c.subject, lower(c.span) as "startAt", upper(c.span) as "endAt",
           c.status, c.reason, c.hint, c.attempts, c.first_at as "firstAt", c.last_at as "lastAt",
           nullif(c.next_try_at, 'infinity') as "nextTryAt"
         from chosen c join vitalsync.profiles p on p.id = c.profile_id order by c.last_at desc, c.id limit $4`,
        [...valuesOf(filter), limit],
      )
      return rows.map((row) => ({ ...row, hint: row.hint ?? hintFor(row) }))
    },
    again: async (filter) => (await pool.query(again, valuesOf(filter))).rows.map(toBackfill),
    retry: (filter) =>
      change(
        filter,
        `asked as (update vitalsync.refusals r set next_try_at = clock_timestamp() from chosen c
           where c.kind = 'window' and r.profile_id = c.profile_id and r.stream = c.subject and r.span = c.span),
         swept as (select c.profile_id from chosen c join vitalsync.profiles p on p.id = c.profile_id where ${bySweep}),
         woken as (update vitalsync.profiles p set due_at = least(p.due_at, clock_timestamp())
           where p.id in (select profile_id from swept))`,
        'swept',
      ),
    discard: (filter) =>
      change(
        filter,
        `rested as (update vitalsync.refusals r set next_try_at = 'infinity' from chosen c
           where c.kind = 'window' and r.profile_id = c.profile_id and r.stream = c.subject and r.span = c.span),
         forgotten as (delete from vitalsync.failures f using chosen c
           where c.kind = 'job' and f.profile_id = c.profile_id and f.job = c.subject)`,
      ),
  }
}

/** What a person can do about it. */
function hintFor({ kind, status, nextTryAt }: Pick<Failure, 'kind' | 'status' | 'nextTryAt'>): string {
  if (kind === 'job') return 'When what the reason says is mended: vitalsync failures retry.'
  if (nextTryAt === null) return 'It was discarded and is not asked for. Ask again: vitalsync failures retry.'
  if (status === 404) return 'Upstream does not know this person or this kind of data: see vitalsync profiles show.'
  if (status === 400 || status === 422)
    return 'Upstream refuses the question itself: ask its operator with the reason above, or discard it.'
  if (status !== null && status >= 400 && status < 500)
    return 'Upstream refuses for good: mend what the reason says there, then vitalsync failures retry.'
  return 'Upstream gave no usable answer; it is asked again by itself, or at once: vitalsync failures retry.'
}
