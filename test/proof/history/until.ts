import { setTimeout as wait } from 'node:timers/promises'
import { MINUTE, SECOND } from '../../../src/base/time/units.ts'

const POLL_MS = SECOND / 10

/** How long a process may take to start. On a machine that works it never takes so long: the run would wait for good. */
export const STARTS_WITHIN_MS = 10 * MINUTE

/** Asks again and again until the answer is yes. False: it was no all the time. An error counts as no. */
export async function until(ask: () => Promise<boolean> | boolean, withinMs: number): Promise<boolean> {
  const isYes = async () => ask()
  for (const giveUpMs = performance.now() + withinMs; performance.now() < giveUpMs; await wait(POLL_MS))
    if (await isYes().catch(() => false)) return true
  return false
}
