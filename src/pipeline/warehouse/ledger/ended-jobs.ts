import { createBatcher } from '../../../base/postgres/batcher.ts'
import { SECOND } from '../../../base/time/units.ts'
import { type EndedJob, paramsText } from '../../transfer/order.ts'
import { backoffSql } from '../postgres/sql-time.ts'
import { LOCK_TIMEOUT_MS, namedSql, type Pool, type Tx, transaction } from '../postgres/warehouse-pool.ts'
import { countEnded } from '../runs/open-orders.ts'

export type FailureReason = { readonly reason: string; readonly hint: string | undefined }

/** Keeps one failure for each profile and job, and lets the sweep leave the profile alone, longer after each attempt. */
export async function recordFailure(pool: Pool, ended: EndedJob, { reason, hint }: FailureReason): Promise<void> {
  const work = async (tx: Tx) => {
    const { rows } = await tx.query<{ attempts: number }>(
      `insert into vitalsync.failures as f (profile_id, job, reason, hint, scope, first_at, last_at)
       select p.id, $2, $3, $4, $5, statement_timestamp(), statement_timestamp() from vitalsync.profiles p where p.id = $1
       on conflict (profile_id, job) do update set reason = excluded.reason, hint = excluded.hint,
         scope = excluded.scope, attempts = f.attempts + 1, last_at = excluded.last_at
       returning attempts`,
      [ended.profileId, ended.job, reason, hint ?? null, paramsText(ended.params)],
    )
    if (rows[0])
      await tx.query(
        `update vitalsync.profiles
         set due_at = greatest(due_at, statement_timestamp() + ${backoffSql('$2::int4', '26 hours')}) where id = $1`,
        [ended.profileId, rows[0].attempts],
      )
    await countEnded(tx, [ended], 'failed')
  }
  // The plan that a connection keeps of `count ended` is made by whichever of its callers comes first: all ask for the same.
  await transaction(pool, work, 'by-index')
}

/**
 * Forgets the profiles' failures and sets when the sweep looks at each profile again: when the next nightly should have
 * finished the profile, or earlier: when a refused window may be asked for again, when the next reading of what was
 * pushed counts, or in five minutes if items still wait to be pushed. A job that only verifies has synced nothing: it
 * leaves the profile as it is.
 *
 * The next sweep gets the work that the job was not planned for: items that were added while it ran, or shortly before in a
 * transaction that it did not see, and whatever made the profile due meanwhile, such as a difference that was found. Such a
 * mark may be younger than this statement, which may have waited for the lock of the profile.
 *
 * A job that was planned in the first moments after a push leaves out the touched spans, and the ledger does not know when
 * its last reading went out later than these moments. So what is wanted, and was not read since the push though nothing
 * refuses it, is looked at again after the first interval.
 *
 * The plan is kept. So times of refusals are compared in filters: as conditions they could be looked up by the index of all
 * people's times.
 */
const finishStatement = (tx: Tx) => `
  with input as (select * from unnest($1::int8[], $2::int8[], $3::text[], $6::timestamptz[]) as i(profile_id, run_id, job, begun_at)),
    mended as (delete from vitalsync.failures f using input i
      where f.profile_id = i.profile_id and f.job = i.job and f.profile_id = any($1)),
    locked as (select p.id, p.wanted_from, n.run_id, n.begun_at,
        case when p.due_at > n.begun_at + interval '1 millisecond'
          and p.due_at < statement_timestamp() + $7 * interval '1 millisecond' then p.due_at end as made_due_at
      from (select distinct on (profile_id) profile_id, run_id, begun_at from input where job <> 'verify-profile'
        order by profile_id, begun_at) n
      join vitalsync.profiles p on p.id = n.profile_id and ${namedSql(tx, 'p.id', '$1')}
      order by p.id for update of p),
    looked as (select k.id, k.run_id, least(
      k.made_due_at,
      statement_timestamp() + interval '26 hours',
      (select min(f.next_try_at) filter (where f.next_try_at > statement_timestamp()) from vitalsync.refusals f
        where f.profile_id = k.id and ${namedSql(tx, 'f.profile_id', '$1')}),
      (select min(case
          when l.digested_at > coalesce(l.read_at, '-infinity') then l.digested_at
          when l.stream = any($4) and l.digesting && tstzrange(k.wanted_from + interval '1 second', null)
            and (select count(*) filter (where f.next_try_at > statement_timestamp()) from vitalsync.refusals f
              where f.profile_id = k.id and f.stream = l.stream and ${namedSql(tx, 'f.profile_id', '$1')}) = 0
          then statement_timestamp() + $5 * interval '1 millisecond' end)
        from vitalsync.ledger l
        where l.profile_id = k.id and ${namedSql(tx, 'l.profile_id', '$1')} and (l.digesting <> '{}' or l.rereads <> '[]')),
      (select case when max(o.added_at) > k.begun_at - interval '1 minute' then statement_timestamp()
          when max(o.added_at) is not null then statement_timestamp() + interval '5 minutes' end
        from vitalsync.parcels o where o.profile_id = k.id and ${namedSql(tx, 'o.profile_id', '$1')})) as due_at
      from locked k)
  update vitalsync.profiles p set finished_at = statement_timestamp(), run_id = d.run_id, due_at = d.due_at
  from looked d where p.id = d.id and ${namedSql(tx, 'p.id', '$1')}`

const FINISHED_PER_STATEMENT = 1000
/** The least time until the spans that a job left out are looked at again. */
const NEXT_LOOK_MIN_MS = SECOND

type FinishOptions = { readonly pool: Pool; readonly streams: readonly string[]; readonly firstReadingMs: number }

/** Commits the profiles and what the jobs add to their runs together. */
export const createFinisher = (options: FinishOptions): ((ended: EndedJob) => Promise<void>) =>
  createBatcher({
    itemsMax: FINISHED_PER_STATEMENT,
    batchesAtOnce: 1,
    keyOf: ({ profileId }: EndedJob) => options.pool.division.keyOf(profileId),
    run: (ended: readonly EndedJob[]) => finishProfiles(options, ended),
  })

async function finishProfiles(options: FinishOptions, ended: readonly EndedJob[]): Promise<undefined[]> {
  const { pool, streams, firstReadingMs } = options
  const once = [...new Map(ended.map((job) => [`${job.profileId} ${job.job}`, job])).values()]
  const finish = (tx: Tx) =>
    tx.query({
      name: 'finish profiles',
      text: finishStatement(tx),
      values: [
        once.map((job) => job.profileId),
        once.map((job) => job.runId),
        once.map((job) => job.job),
        streams,
        Math.max(firstReadingMs, NEXT_LOOK_MIN_MS),
        once.map(({ begunAtMs }) => new Date(begunAtMs)),
        LOCK_TIMEOUT_MS,
      ],
    })
  const work = (tx: Tx) => tx.commit([finish(tx), countEnded(tx, ended, 'done')])
  await transaction(pool, work, 'by-index')
  return ended.map(() => undefined)
}
