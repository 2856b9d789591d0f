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

export type Failures = {
  /** Newest first; `after` is the id of the last one of the page before. */
  list(filter: FailureFilter, limit: number): Promise<Failure[]>
  /** Makes them due now: the next sweep or sync takes them. Says how many there were. */
  retry(filter: FailureFilter): Promise<number>
  /** Jobs are forgotten; windows are remembered, but not asked for again. */
  discard(filter: FailureFilter): Promise<number>
}

const all = `
  select 'job:' || f.profile_id || ':' || f.job as id, 'job' as kind, f.profile_id, f.job as subject,
    null::tstzrange as span, null::int as status, f.reason, f.hint, f.attempts, f.first_at, f.last_at, p.due_at as next_try_at
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

export function openFailures({ pool }: { pool: Pool }): Failures {
  const change = async (filter: FailureFilter, changes: string) => {
    const { rows } = await pool.query(
      `with chosen as materialized (${chosen}), ${changes} select count(*)::int as n from chosen`,
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
    retry: (filter) =>
      change(
        filter,
        `asked as (update vitalsync.refusals r set next_try_at = clock_timestamp() from chosen c
           where c.kind = 'window' and r.profile_id = c.profile_id and r.stream = c.subject and r.span = c.span),
         woken as (update vitalsync.profiles p set due_at = least(p.due_at, clock_timestamp())
           where p.id in (select profile_id from chosen))`,
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

/** What a person can do about a refused window. */
function hintFor({ status, nextTryAt }: { status: number | null; nextTryAt: Date | null }): string {
  if (nextTryAt === null) return 'It was discarded and is not asked for. Ask again: vitalsync failures retry.'
  if (status === 404) return 'Upstream does not know this person or this kind of data: see vitalsync profiles show.'
  if (status === 400 || status === 422)
    return 'Upstream refuses the question itself: ask its operator with the reason above, or discard it.'
  if (status !== null && status >= 400 && status < 500)
    return 'Upstream refuses for good: mend what the reason says there, then vitalsync failures retry.'
  return 'Upstream gave no usable answer; it is asked again by itself, or at once: vitalsync failures retry.'
}
