import { UsageProblem } from '../../../base/errors.ts'
import type { Misfit } from '../../transfer/misfits.ts'
import { writeAudit } from '../audit/stored-audit.ts'
import { type Pool, transaction } from '../postgres/warehouse-pool.ts'

/** Something unknown that upstream says, once enough people have it. */
export type DriftEntry = Misfit & {
  readonly id: string
  readonly stream: string
  readonly people: number
  readonly records: number
  readonly firstSeenAt: Date
  readonly lastSeenAt: Date
  /** When a stopped field came again; null while people lack it. */
  readonly cameAgainAt: Date | null
  readonly exampleExternalId: string | null
  readonly exampleDate: string | null
  readonly acceptedAt: Date | null
  readonly acceptedBy: string | null
}

/** Ids, or all of a stream, or everything that was not accepted. */
export type DriftChoice = { readonly ids?: readonly string[] | undefined; readonly stream?: string | undefined }

/** Units first, for their days do not settle, then the newest. `all`: also what was accepted. */
export async function listDrift(
  pool: Pool,
  { all, stream }: { all: boolean; stream?: string | undefined },
): Promise<DriftEntry[]> {
  const { rows } = await pool.query<DriftEntry>(
    `select id::text as id, stream, what, path, detail, people, records, first_seen_at as "firstSeenAt",
       last_seen_at as "lastSeenAt", came_again_at as "cameAgainAt", example_external_id as "exampleExternalId", example_date::text as "exampleDate",
       accepted_at as "acceptedAt", accepted_by as "acceptedBy"
     from warehouse.drift where ($1 or accepted_at is null) and ($2::text is null or stream = $2)
     order by what <> 'unit', first_seen_at desc, stream, what, path, detail`,
    [all, stream],
  )
  return rows
}

/** How much of each stream was reported and not accepted. */
export async function countDrift(pool: Pool): Promise<Array<{ stream: string; count: number }>> {
  const { rows } = await pool.query<{ stream: string; count: number }>(
    'select stream, count(*)::int as count from vitalsync.drift where accepted_at is null group by stream order by stream',
  )
  return rows
}

/** Accepts what was chosen, with the entry of the audit. Returns how many; unknown ids are an error, and nothing is accepted. */
export async function acceptDrift(pool: Pool, { ids, stream }: DriftChoice, who: string): Promise<number> {
  return transaction(pool, async (tx) => {
    const { rows } = await tx.query<{ id: string }>(
      `update vitalsync.drift set accepted_at = coalesce(accepted_at, clock_timestamp()), accepted_by = coalesce(accepted_by, $3)
       where ($1::int8[] is null and accepted_at is null or id = any($1)) and ($2::text is null or stream = $2)
       returning id::text as id`,
      [ids ?? null, stream ?? null, who],
    )
    if (ids !== undefined && rows.length < new Set(ids).size)
      throw new UsageProblem('accept drift: there is none with one of these numbers', {
        hint: 'The list: vitalsync drift list',
      })
    if (rows.length > 0)
      await writeAudit(tx, { who, role: 'command', action: 'accept drift', what: { drift: rows.map(({ id }) => id) } })
    return rows.length
  })
}
