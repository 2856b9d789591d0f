import type { PulledStream } from '../../transfer/stream.ts'
import type { Pool } from '../postgres/warehouse-pool.ts'

type Where = { readonly pool: Pool; readonly account: string }

/** So many profiles with a silent difference within a day are a pattern; or a thousandth of all profiles, if that is more. */
const PROFILES_MIN = 3
const PROFILES_SHARE = 0.001

const PROFILES_PER_STATEMENT = 5000

/**
 * Silent differences of one stream in several profiles say that upstream was late for everybody: the days that settled
 * lately, within twice the fallback's age, are made due again in all profiles, at most once a day. Each profile is read by
 * the next nightly, and settles by two readings that agree.
 */
export async function unsettleRecentDays({ pool, account }: Where, stream: PulledStream): Promise<void> {
  const { rows } = await pool.query<{ id: string }>(claimStatement, [
    account,
    stream.name,
    PROFILES_MIN,
    PROFILES_SHARE,
  ])
  if (rows.length === 0) return
  for (let afterId = '0'; ; ) {
    const { rows: page } = await pool.query<{ last_id: string | null }>(unsettleStatement, [
      stream.name,
      2 * stream.settleMs,
      afterId,
      PROFILES_PER_STATEMENT,
    ])
    const lastId = page[0]?.last_id
    if (!lastId) return
    afterId = lastId
  }
}

/** One process claims it. A claim whose process dies is made up by the next day's, if the pattern goes on. */
const claimStatement = `
  update vitalsync.settle_times t set unsettled_at = clock_timestamp()
  where t.account = $1 and t.stream = $2
    and coalesce(t.unsettled_at, '-infinity') < clock_timestamp() - interval '24 hours'
    and (select count(distinct d.profile_id) from vitalsync.silent_differences d
      where d.account = $1 and d.stream = $2 and d.found_at > clock_timestamp() - interval '24 hours')
    >= greatest($3::float8, $4::float8 * (select count(*) from vitalsync.profiles where state <> 'gone'))
  returning t.stream as id`

const unsettleStatement = `
  with page as (
    select l.profile_id, tstzrange(clock_timestamp() - $2::float8 * interval '1 millisecond', clock_timestamp()) as recent
    from vitalsync.ledger l where l.stream = $1 and l.profile_id > $3 order by l.profile_id limit $4
  ), locked as (
    select l.profile_id, k.recent from vitalsync.ledger l join page k using (profile_id)
    where l.stream = $1 and l.covered && k.recent order by l.profile_id for update of l
  ), unsettled as (
    update vitalsync.ledger l set covered = l.covered - k.recent::tstzmultirange,
      rereads = l.rereads || jsonb_build_array(jsonb_build_array(
        extract(epoch from lower(k.recent)) * 1000, extract(epoch from upper(k.recent)) * 1000,
        extract(epoch from clock_timestamp()) * 1000, null, 0, 1))
    from locked k where l.profile_id = k.profile_id and l.stream = $1
  )
  select max(profile_id)::text as last_id from page`
