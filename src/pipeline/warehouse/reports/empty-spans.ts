import type { CauseEvidence, EmptyCause } from '../../ledger/empty-causes.ts'
import type { Pool } from '../postgres/warehouse-pool.ts'

/** Empty days of one person and stream that follow one another and have one cause. */
export type EmptySpan = {
  readonly externalId: string
  readonly stream: string
  readonly firstDay: string
  readonly lastDay: string
  readonly days: number
  readonly cause: EmptyCause
  /** The evidence of the last day. */
  readonly evidence: CauseEvidence | null
}

const PROFILES_PER_PAGE = 200

/** Reads the empty days of all people, or of the named people, page by page, oldest profile first. */
export async function* readEmptySpans(
  pool: Pool,
  { ids, streams }: { readonly ids: readonly string[] | undefined; readonly streams: readonly string[] },
): AsyncGenerator<EmptySpan> {
  for (let afterId = '0'; ; ) {
    const { rows: page } = await pool.query<{ id: string; externalId: string }>(
      `select id, external_id as "externalId" from vitalsync.profiles
       where id > $1 and ($2::int8[] is null or id = any($2)) order by id limit ${PROFILES_PER_PAGE}`,
      [afterId, ids ?? null],
    )
    const last = page.at(-1)
    if (!last) return
    const { rows } = await pool.query<EmptySpan>(spansQuery, [page.map(({ externalId }) => externalId), streams])
    yield* rows
    afterId = last.id
  }
}

const spansQuery = `
  with days as materialized (
    select external_id, stream, local_date, cause, evidence,
      local_date - row_number() over (partition by external_id, stream, cause order by local_date)::int as island
    from warehouse.days where external_id = any($1) and stream = any($2) and state = 'empty'
  )
  select external_id as "externalId", stream, min(local_date)::text as "firstDay", max(local_date)::text as "lastDay",
    count(*)::int as days, cause, (array_agg(evidence order by local_date desc))[1] as evidence
  from days group by external_id, stream, cause, island
  order by external_id, min(local_date), array_position($2, stream)`
