import { EngineUnreachable } from '../errors.ts'
import type { Log } from '../log.ts'
import { MINUTE, SECOND } from '../window.ts'
import { type Pool, unreachable } from './pool.ts'

export const SKEW_MAX_MS = 30 * SECOND

export type DatabaseClock = {
  /** Whole milliseconds since 1970 by the database's clock, as last measured. */
  now(): number
  skewMs(): number
  close(): void
}

/** How far this machine's clock is behind the database's. The reply's way back is taken to be as long as its way there. */
export async function measureSkew(pool: Pool): Promise<number> {
  const askedAt = Date.now()
  const { rows } = await pool
    .query<{ ms: number }>('select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms')
    .catch((cause: unknown) => {
      throw unreachable(cause)
    })
  return (rows[0]?.ms ?? askedAt) - (askedAt + Date.now()) / 2
}

/**
 * Instants that order readings, slots and leases come from the database's clock, so that hosts need not agree. The skew is
 * measured at the start and every minute; a host that is far off is refused, for the queue's leases trust its own clock.
 */
export async function startDatabaseClock(
  pool: Pool,
  options: { log: Log; onSkewed(error: Error): void },
): Promise<DatabaseClock> {
  let skewMs = await measureSkew(pool)
  refuse(skewMs)
  const measure = async () => {
    try {
      skewMs = await measureSkew(pool)
      refuse(skewMs)
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

function refuse(skewMs: number): void {
  if (Math.abs(skewMs) <= SKEW_MAX_MS) return
  throw new ClockSkewed(`compare clocks: this machine is ${Math.round(Math.abs(skewMs) / SECOND)} s off the database`, {
    hint: 'Set both clocks by NTP. Above 30 s the queue would take healthy jobs for dead ones.',
  })
}
