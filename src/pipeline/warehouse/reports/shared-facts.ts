import type { Pool } from '../postgres/warehouse-pool.ts'

/** A row of `vitalsync.shared_facts`, and the database's time at which it was read. */
type SharedFacts = { readonly facts: unknown; readonly askedAtMs: number | null; readonly nowMs: number }

type FactsQuestion = {
  readonly name: string
  /** How old the facts may get. Where the query is slow they get older, so that it takes at most a twentieth of the time. */
  readonly maxAgeMs: number
  /** Queries the facts again. Gets the former facts, whatever version stored them. */
  ask(former: unknown, nowMs: number): Promise<unknown>
}

/** How long a process that died while asking keeps the others from asking. */
const LEASE_MS = 60_000
/** A question that takes a second is asked every twenty seconds at most. */
const REST_PER_WORK = 20

/**
 * Facts that one process at a time asks for and all processes read. The process that finds them too old takes a lease on their row and
 * asks; all others use the old row meanwhile.
 */
export async function readSharedFacts(pool: Pool, { name, maxAgeMs, ask }: FactsQuestion): Promise<SharedFacts> {
  const { rows: leased } = await pool.query<{ facts: unknown; now_ms: number }>(leaseStatement, [name, LEASE_MS])
  const [mine] = leased
  if (mine) {
    const startedAtMs = performance.now()
    const facts = await ask(mine.facts, mine.now_ms).catch(async (error: unknown) => {
      await pool.query(releaseStatement, [name]).catch(() => undefined) // the lease expires anyway
      throw error
    })
    const restMs = Math.max(maxAgeMs, (performance.now() - startedAtMs) * REST_PER_WORK)
    await pool.query(storeStatement, [name, JSON.stringify(facts), restMs])
  }
  const { rows } = await pool.query<SharedFacts>(readStatement, [name])
  return rows[0] ?? { facts: null, askedAtMs: null, nowMs: mine?.now_ms ?? 0 }
}

const inMs = (instant: string) => `(extract(epoch from ${instant}) * 1000)::float8`

const leaseStatement = `
  insert into vitalsync.shared_facts as s (name, leased_until)
  values ($1, clock_timestamp() + $2::float8 * interval '1 ms')
  on conflict (name) do update set leased_until = excluded.leased_until
    where s.due_at <= clock_timestamp() and s.leased_until <= clock_timestamp()
  returning facts, ${inMs('clock_timestamp()')} as now_ms`

const storeStatement = `
  update vitalsync.shared_facts set facts = $2, asked_at = clock_timestamp(), leased_until = '-infinity',
    due_at = clock_timestamp() + $3::float8 * interval '1 ms'
  where name = $1`

const releaseStatement = "update vitalsync.shared_facts set leased_until = '-infinity' where name = $1"

const readStatement = `
  select facts, ${inMs('asked_at')} as "askedAtMs", ${inMs('clock_timestamp()')} as "nowMs"
  from vitalsync.shared_facts where name = $1`
