import { EngineUnreachable } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { CLOCK_SKEW_MAX_MS } from '../../time/clock-skew.ts'
import { MINUTE, SECOND } from '../../time/units.ts'
import { postgresUnreachable } from './sql-errors.ts'
import type { Pool } from './warehouse-pool.ts'

export type DatabaseClock = {
  /** Whole milliseconds since 1970 by the database's clock, by the last measurement. */
  now(): number
  skewMs(): number
  close(): void
}

/** How far this machine's clock is behind the database's, if request and response travel equally long. */
async function measureSkew(pool: Pool): Promise<number> {
  const sentAtMs = Date.now()
  const { rows } = await pool
    .query<{ ms: number }>('select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms')
    .catch((cause: unknown) => {
      throw postgresUnreachable(cause)
    })
  return (rows[0]?.ms ?? sentAtMs) - (sentAtMs + Date.now()) / 2
}

/**
 * Instants that order readings, slots and leases come from the database's clock, so that hosts need not agree. The skew is
 * measured at the start and every minute. A host with a large skew is refused, because the queue's leases trust the host's
 * clock.
 */
export async function startDatabaseClock(
  pool: Pool,
  options: { log: Log; onSkewed(error: Error): void },
): Promise<DatabaseClock> {
  let skewMs = await measureSkew(pool)
  requireSmallSkew(skewMs)
  const measure = async () => {
    try {
      skewMs = await measureSkew(pool)
      requireSmallSkew(skewMs)
    } catch (error) {
      if (error instanceof ClockSkewed) options.onSkewed(error)
      else options.log.warn({ err: (error as Error).message }, 'could not compare the clock with the database')
    }
  }
  const timer = setInterval(measure, MINUTE)
  timer.unref()
  return { now: () => Math.floor(Date.now() + skewMs), skewMs: () => skewMs, close: () => clearInterval(timer) }
}

class ClockSkewed extends EngineUnreachable {}

function requireSmallSkew(skewMs: number): void {
  if (Math.abs(skewMs) <= CLOCK_SKEW_MAX_MS) return
  throw new ClockSkewed(`compare clocks: this machine is ${Math.round(Math.abs(skewMs) / SECOND)} s off the database`, {
    hint: `Set both clocks by NTP. Above ${CLOCK_SKEW_MAX_MS / SECOND} s the queue would take healthy jobs for dead ones.`,
  })
}
