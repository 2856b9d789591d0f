import type { DifferenceCause, RecordDifference } from '../../ledger/difference-cause.ts'
import type { Pool } from '../postgres/warehouse-pool.ts'
import type { CoveredWindow } from './covered-windows.ts'

type WindowName = Pick<CoveredWindow, 'profileId' | 'stream' | 'window'>

/** How many records of a window differ, by kind. */
export type DifferenceCounts = { readonly [K in 'missingHere' | 'differing' | 'missingUpstream']: number }

export function countDifferences(differences: readonly RecordDifference[]): DifferenceCounts {
  const count = (kind: RecordDifference['kind']) => differences.filter((difference) => difference.kind === kind).length
  return {
    missingHere: count('missing-here'),
    differing: count('differing'),
    missingUpstream: count('missing-upstream'),
  }
}

const spanSql = 'tstzrange(to_timestamp($3::float8 / 1000), to_timestamp($4::float8 / 1000))'

const parametersOf = ({ profileId, stream, window }: WindowName) => [
  profileId,
  stream.name,
  window.startMs,
  window.endMs,
]

/**
 * Whether the ledger still vouches for the window. While items of the profile wait to be pushed, upstream may have taken
 * them already and derived again, and the ledger learns of it a moment later.
 */
export async function isStillCovered(pool: Pool, window: WindowName): Promise<boolean> {
  const { rowCount } = await pool.query(
    `select from vitalsync.ledger l where profile_id = $1 and stream = $2 and covered @> ${spanSql}
       and not exists (select from vitalsync.parcels o where o.profile_id = $1)`,
    parametersOf(window),
  )
  return rowCount === 1
}

/** Makes a window due again, and its profile due for the next sweep. */
export async function uncoverWindow(pool: Pool, window: WindowName): Promise<void> {
  await pool.query(
    `with uncovered as (
       update vitalsync.ledger set covered = covered - tstzmultirange(${spanSql}), tagged = false
       where profile_id = $1 and stream = $2 returning profile_id
     )
     update vitalsync.profiles p set due_at = least(p.due_at, statement_timestamp())
     from uncovered u where p.id = u.profile_id and p.id = $1`,
    parametersOf(window),
  )
}

/** Makes windows due again that were found to differ and not mended, because their verification was killed. */
export async function uncoverUnmended(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ id: string }>(
    'select distinct profile_id as id from vitalsync.differences where mended_at is null',
  )
  for (const part of pool.division.split(rows, ({ id }) => id)) {
    await pool.query(
      `with unmended as (
         select profile_id, stream, range_agg(span) as spans from vitalsync.differences
         where mended_at is null and profile_id = any($1) group by profile_id, stream
       ), uncovered as (
         update vitalsync.ledger l set covered = l.covered - u.spans, tagged = false from unmended u
         where l.profile_id = u.profile_id and l.stream = u.stream and l.covered && u.spans and l.profile_id = any($1)
         returning l.profile_id
       )
       update vitalsync.profiles p set due_at = least(p.due_at, statement_timestamp())
       from uncovered u where p.id = u.profile_id and p.id = any($1)`,
      [part.map(({ id }) => id)],
    )
  }
}

type Finding = { readonly cause: DifferenceCause; readonly counts: DifferenceCounts }

/** Records a window that differs. Found again, the former finding is replaced. */
export async function recordDifference(pool: Pool, window: WindowName, { cause, counts }: Finding): Promise<void> {
  await pool.query(
    `insert into vitalsync.differences (profile_id, stream, span, found_at, cause, missing_here, differing, missing_upstream)
     select p.id, $2, ${spanSql}, statement_timestamp(), $5, $6, $7, $8 from vitalsync.profiles p where p.id = $1
     on conflict (profile_id, stream, span) do update set found_at = excluded.found_at, cause = excluded.cause,
       missing_here = excluded.missing_here, differing = excluded.differing,
       missing_upstream = excluded.missing_upstream, mended_at = null`,
    [...parametersOf(window), cause, counts.missingHere, counts.differing, counts.missingUpstream],
  )
}

/** Makes the profile due for the next sweep too: days near a silent difference must be read again. */
export async function markMended(pool: Pool, window: WindowName): Promise<void> {
  await pool.query(
    `with mended as (
       update vitalsync.differences set mended_at = statement_timestamp()
       where profile_id = $1 and stream = $2 and span = ${spanSql} returning profile_id
     )
     update vitalsync.profiles p set due_at = least(p.due_at, statement_timestamp())
     from mended m where p.id = m.profile_id and p.id = $1`,
    parametersOf(window),
  )
}

/** Counts a window that chance drew. Only these make the measured rate: a window that somebody chose says nothing of others. */
export async function countVerified(pool: Pool, streamName: string, isDiffering: boolean): Promise<void> {
  await pool.query(
    `insert into vitalsync.verified_windows as v (verified_on, stream, windows, differing)
     values ((clock_timestamp() at time zone 'UTC')::date, $1, 1, $2)
     on conflict (verified_on, stream) do update set windows = v.windows + 1, differing = v.differing + excluded.differing`,
    [streamName, isDiffering ? 1 : 0],
  )
}
