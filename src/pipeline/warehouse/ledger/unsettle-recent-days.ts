import type { PulledStream } from '../../transfer/stream.ts'
import type { Pool } from '../postgres/warehouse-pool.ts'

type Where = { readonly pool: Pool; readonly account: string }

/** How many profiles with a silent difference within a day make a pattern; or a thousandth of all profiles, if that is more. */
const PROFILES_MIN = 3
const PROFILES_SHARE = 0.001

const PROFILES_PER_STATEMENT = 5000

/**
 * Silent differences of one stream in several profiles say that upstream was late for everybody: the days that settled
 * lately, within twice the fallback's age, are made due again in all profiles, at most once a day. Each profile is read by
 * the next nightly, and settles by two readings that agree.
 */
export async function unsettleRecentDays(where: Where, stream: PulledStream): Promise<void> {
  const { pool } = where
  if ((await wasUnsettled(where, stream)) || !(await isPattern(where, stream))) return
  for (let afterId = '0'; ; ) {
    const { rows: page } = await pool.query<{ id: string }>(
      'select profile_id as id from vitalsync.ledger where stream = $1 and profile_id > $2 order by profile_id limit $3',
      [stream.name, afterId, PROFILES_PER_STATEMENT],
    )
    for (const part of pool.division.split(page, ({ id }) => id)) {
      await pool.query(unsettleStatement, [part.map(({ id }) => id), stream.name, 2 * stream.settleMs])
    }
    const lastId = page.at(-1)?.id
    if (!lastId) return markUnsettled(where, stream)
    afterId = lastId
  }
}

async function isPattern({ pool, account }: Where, stream: PulledStream): Promise<boolean> {
  const { rows } = await pool.query<{ n: number }>(
    `select count(distinct profile_id)::float8 as n from vitalsync.silent_differences
     where account = $1 and stream = $2 and found_at > statement_timestamp() - interval '24 hours'`,
    [account, stream.name],
  )
  const surprised = rows[0]?.n ?? 0
  if (surprised < PROFILES_MIN) return false
  const { rows: all } = await pool.query<{ n: number }>(
    "select count(*)::float8 as n from vitalsync.profiles where state <> 'gone'",
  )
  return surprised >= PROFILES_SHARE * (all[0]?.n ?? 0)
}

async function wasUnsettled({ pool, account }: Where, stream: PulledStream): Promise<boolean> {
  const { rows } = await pool.query(
    `select from vitalsync.settle_times where account = $1 and stream = $2
       and unsettled_at >= statement_timestamp() - interval '24 hours'`,
    [account, stream.name],
  )
  return rows.length > 0
}

async function markUnsettled({ pool, account }: Where, stream: PulledStream): Promise<void> {
  await pool.query(
    'update vitalsync.settle_times set unsettled_at = statement_timestamp() where account = $1 and stream = $2',
    [account, stream.name],
  )
}

const recentSql = "tstzrange(statement_timestamp() - $3::float8 * interval '1 millisecond', statement_timestamp())"

const unsettleStatement = `
  with locked as (
    select l.profile_id, ${recentSql} as span, jsonb_build_array(jsonb_build_array(
        extract(epoch from statement_timestamp()) * 1000 - $3::float8, extract(epoch from statement_timestamp()) * 1000,
        extract(epoch from statement_timestamp()) * 1000, null, 0, 1)) as reread
    from vitalsync.ledger l
    where l.profile_id = any($1) and l.stream = $2 and l.covered && ${recentSql} order by l.profile_id for update of l
  )
  update vitalsync.ledger l set covered = l.covered - k.span::tstzmultirange, rereads = l.rereads || k.reread
  from locked k where l.profile_id = k.profile_id and l.stream = $2 and l.profile_id = any($1)`
