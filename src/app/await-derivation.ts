import { sleep } from '../base/sleep.ts'
import { formatCount, formatMinute } from '../base/text/readable.ts'
import { MINUTE, SECOND } from '../base/time/units.ts'
import type { Pool } from '../pipeline/warehouse/postgres/warehouse-pool.ts'
import { readAwaitedDerivation } from '../pipeline/warehouse/reports/awaited-derivation.ts'
import type { Run } from '../pipeline/warehouse/runs/stored-runs.ts'
import type { Terminal } from './terminal/terminal.ts'

type AwaitOptions = {
  readonly pool: Pool
  readonly terminal: Pick<Terminal, 'say' | 'progress' | 'progressEnd'>
  readonly signal: AbortSignal
  /** The streams that are read. */
  readonly streams: readonly string[]
  readonly now: () => number
  /** Reads what is due of these people, and returns the run that did. */
  readAgain(profileIds: readonly string[]): Promise<Run>
}

/** How long a command waits for upstream to derive from a push. */
const WAIT_MAX_MS = 2 * MINUTE
/** Until the next reading where upstream said that it was not done; doubled each time. */
const FIRST_PAUSE_MS = 10 * SECOND

/**
 * A sync that pushed would end before upstream has derived anything from the push. So it waits, and reads what was touched
 * again, until upstream has derived or the time is up.
 */
export async function awaitDerivation(run: Run, options: AwaitOptions): Promise<void> {
  const { pool, terminal, signal, streams, now, readAgain } = options
  const endsAtMs = now() + WAIT_MAX_MS
  const runIds = [run.id]
  let pauseMs = 0
  let rowsWritten = 0
  for (;;) {
    const awaited = await readAwaitedDerivation(pool, { runIds, streams })
    if (!awaited) {
      if (runIds.length > 1)
        terminal.say(`upstream has derived from what was pushed: ${formatCount(rowsWritten, 'more row')} written`)
      return
    }
    const nextAtMs = pauseMs === 0 ? awaited.nextReadAtMs : Math.min(awaited.nextReadAtMs, now() + pauseMs)
    const people = formatCount(awaited.profileIds.length, 'profile')
    if (nextAtMs > endsAtMs) return terminal.say(unfinishedText(people, awaited.nextReadAtMs))
    const waiting = `waiting for upstream to derive from what was pushed for ${people}; read again at ${clockText(nextAtMs)}`
    if (pauseMs === 0) terminal.say(waiting)
    else terminal.progress(waiting)
    // Not before it is due: a reading in the first moments after a push counts for nothing.
    await sleep(Math.max(SECOND, nextAtMs - now()), signal)
    const again = await readAgain(awaited.profileIds)
    runIds.push(again.id)
    rowsWritten += again.rowsWritten
    pauseMs = pauseMs === 0 ? FIRST_PAUSE_MS : pauseMs * 2
  }
}

const clockText = (atMs: number): string => `${new Date(atMs).toISOString().slice(11, 19)} UTC`

const unfinishedText = (people: string, nextReadAtMs: number): string =>
  `upstream has not finished deriving from what was pushed for ${people}: read again at ${formatMinute(new Date(nextReadAtMs))} UTC where a worker and a scheduler run, or by the next vitalsync sync`
