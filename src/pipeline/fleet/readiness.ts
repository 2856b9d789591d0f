import { SECOND } from '../../base/time/units.ts'
import type { LaneFacts, QuickFacts } from './fleet-facts.ts'

/** Why a process is not ready, in one word. The list is closed: a metric carries the word. */
export const unreadyReasons = ['starting', 'stopping', 'database', 'queue', 'clock', 'account', 'work'] as const
type UnreadyReason = (typeof unreadyReasons)[number]

/** The facts that a process knows of itself, and the facts of the fleet. Times are of one clock. */
type ReadinessState = {
  readonly nowMs: number
  readonly isStopping: boolean
  /** Undefined: it never answered since the start. */
  readonly databaseAnsweredAtMs: number | undefined
  readonly queueAnsweredAtMs: number | undefined
  /** How far this machine's clock is off the database's. */
  readonly skewMs: number
  /** Why upstream refuses the account, as this process's own jobs have met it. */
  readonly halted: string | undefined
  readonly facts: QuickFacts | undefined
}

/** How long an engine, which is asked every few seconds, may stay silent before it counts as away. */
export const ENGINE_SILENT_MS = 20 * SECOND
/** A host with a larger skew is refused at 30 s. Here is the time to mend it. */
export const CLOCK_OFF_MS = 10 * SECOND
/** How long waiting work may make no progress: less than a minute, together with the time until it is noticed. */
export const NO_PROGRESS_MS = 40 * SECOND
const TROUBLE_MS = 30 * SECOND

/** All reasons for which a process is not ready, the one that explains the others first. Empty: it is ready. */
export function findUnready(state: ReadinessState): Array<{ reason: UnreadyReason; text: string }> {
  const { databaseAnsweredAtMs, queueAnsweredAtMs, nowMs, skewMs, facts } = state
  const isAway = (answeredAtMs: number) => nowMs - answeredAtMs > ENGINE_SILENT_MS
  if (state.isStopping) return [{ reason: 'stopping', text: 'this process is stopping' }]
  const found: Array<{ reason: UnreadyReason; text: string }> = []
  if (databaseAnsweredAtMs === undefined || queueAnsweredAtMs === undefined)
    found.push({ reason: 'starting', text: 'warehouse and queue have not answered since the start' })
  if (databaseAnsweredAtMs !== undefined && isAway(databaseAnsweredAtMs))
    found.push({
      reason: 'database',
      text: `the warehouse has not answered for ${ageText(nowMs - databaseAnsweredAtMs)}`,
    })
  if (queueAnsweredAtMs !== undefined && isAway(queueAnsweredAtMs))
    found.push({ reason: 'queue', text: `the queue has not answered for ${ageText(nowMs - queueAnsweredAtMs)}` })
  if (Math.abs(skewMs) > CLOCK_OFF_MS)
    found.push({ reason: 'clock', text: `this machine's clock is ${ageText(Math.abs(skewMs))} off the database's` })
  const halted = state.halted ?? facts?.halted ?? undefined
  if (halted !== undefined) found.push({ reason: 'account', text: halted })
  const stuck = facts && whyNothingShrinks(facts, nowMs)
  if (stuck !== undefined) found.push({ reason: 'work', text: stuck })
  return found
}

/** Undefined where nothing waits, or where the waiting work shrinks. */
function whyNothingShrinks({ queue, troubles, workers, progress }: QuickFacts, nowMs: number): string | undefined {
  const busy = (queue ?? []).filter(({ waiting, active, delayed }) => waiting + active + delayed > 0)
  for (const { lane, reason, sinceAt } of troubles) {
    if (nowMs - Date.parse(sinceAt) < TROUBLE_MS || !busy.some((trouble) => trouble.lane === lane)) continue
    return `no ${lane} job succeeds since ${sinceAt.slice(0, 19)}Z: ${reason}`
  }
  if (!isWorking(busy)) return undefined
  const jobs = busy
    .map(({ lane, waiting, active }) => `${waiting} ${lane} jobs wait, ${active} are under way`)
    .join(', ')
  if (nowMs - progress.sinceMs < NO_PROGRESS_MS) return undefined
  const who = workers === 0 ? ', and no worker shows life' : ''
  return `nothing was done for ${ageText(nowMs - progress.sinceMs)}: ${jobs}${who}`
}

/** Jobs that only wait for the time of their next attempt need no progress. */
export const isWorking = (queue: readonly LaneFacts[]): boolean =>
  queue.some(({ waiting, active }) => waiting + active > 0)

const ageText = (ms: number) => `${Math.round(ms / SECOND)} s`
