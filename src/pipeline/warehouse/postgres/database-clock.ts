import { CLOCK_SKEW_MAX_MS } from '../../../base/connections/finding.ts'
import { EngineUnreachable } from '../../../base/errors.ts'
import type { Log } from '../../../base/log.ts'
import { MINUTE, SECOND } from '../../../base/time/units.ts'
import { postgresUnreachable } from './sql-errors.ts'
import type { Pool } from './warehouse-pool.ts'

/** The database's time at a moment of this process's monotonic clock, and the skew of the machine's clock. */
type Measurement = {
  readonly databaseMs: number
  readonly monotonicMs: number
  readonly skewMs: number
  readonly roundTripMs: number
}

const MEASUREMENTS = 3
/** A measurement is wrong by up to half of its round trip: a slower one is worse than the one before. */
const ROUND_TRIP_MAX_MS = SECOND

/** The fastest of several: the first may have waited for its connection. */
async function measureClock(pool: Pool): Promise<Measurement> {
  let best = await measureOnce(pool)
  for (let times = 1; times < MEASUREMENTS; times += 1) {
    const measured = await measureOnce(pool)
    if (measured.roundTripMs < best.roundTripMs) best = measured
  }
  return best
}

/** Assumes that the request takes as long on its way as the response. */
async function measureOnce(pool: Pool): Promise<Measurement> {
  const sentAtMs = machineNow()
  const sentMonotonicMs = performance.now()
  const { rows } = await pool
    .query<{ ms: number }>('select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms')
    .catch((cause: unknown) => {
      throw postgresUnreachable(cause)
    })
  const databaseMs = rows[0]?.ms ?? sentAtMs
  const roundTripMs = performance.now() - sentMonotonicMs
  const skewMs = databaseMs - (sentAtMs + machineNow()) / 2
  return { databaseMs, monotonicMs: sentMonotonicMs + roundTripMs / 2, skewMs, roundTripMs }
}

/**
 * Instants that order readings, slots and leases come from the database's clock, so that hosts need not agree. It is measured
 * at the start and every minute. Between two measurements time goes by the monotonic clock: a machine's clock that is set
 * would stamp readings with a time to come, and until that time no other reading could replace them. A host with a large
 * skew is refused: something else is wrong there.
 */
export async function startDatabaseClock(pool: Pool, options: { log: Log; onSkewed(error: Error): void }) {
  let measured = await measureClock(pool)
  requireSmallSkew(measured.skewMs)
  const measure = async () => {
    try {
      const fresh = await measureClock(pool)
      if (fresh.roundTripMs > ROUND_TRIP_MAX_MS) return
      measured = fresh
      requireSmallSkew(measured.skewMs)
    } catch (error) {
      if (error instanceof ClockSkewed) options.onSkewed(error)
      else options.log.warn({ err: (error as Error).message }, 'could not compare the clock with the database')
    }
  }
  const timer = setInterval(measure, MINUTE)
  timer.unref()
  return {
    /** Whole milliseconds since 1970 by the database's clock: as last measured, and as much later as this process has run since. */
    now: () => Math.floor(measured.databaseMs + performance.now() - measured.monotonicMs),
    /** How far this machine's clock was behind the database's when it was last measured. */
    skewMs: () => measured.skewMs,
    close: () => clearInterval(timer),
  }
}

class ClockSkewed extends EngineUnreachable {}

function requireSmallSkew(skewMs: number): void {
  if (Math.abs(skewMs) <= CLOCK_SKEW_MAX_MS) return
  throw new ClockSkewed(`compare clocks: this machine is ${Math.round(Math.abs(skewMs) / SECOND)} s off the database`, {
    hint: `Set both clocks by NTP. Above ${CLOCK_SKEW_MAX_MS / SECOND} s the queue would take healthy jobs for dead ones.`,
  })
}

/**
 * Libraries take the time from `Date.now` and accept no other clock: the queue, when it locks, delays and pauses, and the
 * counter of requests a second. The whole fleet goes by what they store. A worker lets them use the database's clock, which
 * nobody moves by setting the clock of a machine.
 */
const clocks: Array<() => number> = []
let machine: (() => number) | undefined

/** The time of this machine, whatever clock the libraries go by. */
export const machineNow = (): number => (machine ? machine() : Date.now())

/** Lets `Date.now` answer by `clock`. Returns the function that ends this. */
export function setLibraryClock(clock: () => number): () => void {
  clocks.push(clock)
  if (clocks.length === 1) {
    machine = Date.now
    Date.now = () => (clocks.at(-1) ?? machineNow)()
  }
  return () => {
    const at = clocks.indexOf(clock)
    if (at >= 0) clocks.splice(at, 1)
    if (clocks.length > 0 || !machine) return
    Date.now = machine
    machine = undefined
  }
}
