import { epochMsSql } from '../postgres/sql-time.ts'
import type { Pool } from '../postgres/warehouse-pool.ts'

/** People for whom upstream has not shown yet that it derived from a push, and when the first of them is read next. */
type AwaitedDerivation = { readonly profileIds: readonly string[]; readonly nextReadAtMs: number }

/** How many people one question is about. */
const PEOPLE_MAX = 1000

/**
 * A span that a push touched is awaited until upstream says that it has derived, or until two readings agree. Undefined: nobody
 * is awaited whose last job was of these runs. A stream with a refused window is left out: the refusal has its own time.
 */
export async function readAwaitedDerivation(
  pool: Pool,
  { runIds, streams }: { runIds: readonly string[]; streams: readonly string[] },
): Promise<AwaitedDerivation | undefined> {
  const { rows } = await pool.query<{ id: string; due: number }>(
    `select p.id, ${epochMsSql('p.due_at')} as due from vitalsync.profiles p
     where p.run_id = any($1::int8[]) and p.state <> 'gone' and exists (
       select from vitalsync.ledger l where l.profile_id = p.id and l.stream = any($2)
         and (l.digesting && tstzrange(p.wanted_from + interval '1 second', null)
           or exists (select from jsonb_array_elements(l.rereads) r where (r ->> 4)::int < 2))
         and not exists (select from vitalsync.refusals f where f.profile_id = p.id and f.stream = l.stream))
     order by p.due_at limit ${PEOPLE_MAX}`,
    [runIds, streams],
  )
  const [first] = rows
  return first && { profileIds: rows.map(({ id }) => id), nextReadAtMs: first.due }
}
