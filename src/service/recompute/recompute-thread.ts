import { parentPort, workerData } from 'node:worker_threads'
import { createLog } from '../../base/log.ts'
import { HOUR, MINUTE } from '../../base/time/units.ts'
import { createServicePool } from '../store/service-pool.ts'
import { createCohortCache } from './cohort-cache.ts'
import { createRoundMemory, runRecomputeRound } from './recompute-round.ts'
import { shrinkHeap } from './shrink-heap.ts'

/**
 * The code of the derivation thread. Derivation runs in a thread with its own database connections, so that it never
 * delays a request. The thread works only when asked, one round at a time, and answers each request once; asked to close,
 * it ends a round after the profile that is under way.
 */
export type ThreadData = {
  databaseUrl: string
  logLevel: string
  profilesPerRound: number
  place: { index: number; count: number }
}
export type ThreadRequest = { ask: 'round'; nowMs: number; among: readonly string[] | null } | { ask: 'close' }
/**
 * `begin` comes before each profile and answers no request: from it the main thread knows on which profile the thread
 * ended. `more`: there may be more due now. `backsOff`: the thread ended, and its profile is retried later.
 */
export type ThreadReply =
  | { did: 'begin'; profileId: string }
  | { did: 'round'; more: boolean }
  | { did: 'fail'; reason: string; backsOff?: boolean }
  | { did: 'close' }

const SHRINK_EVERY_MS = 5 * MINUTE

const port = parentPort
if (!port) throw new Error('start derivation thread: not inside a worker thread')
const reply = (message: ThreadReply) => port.postMessage(message)

// start-recompute.ts passes ThreadData; the structured clone has lost its type.
const { databaseUrl, logLevel, profilesPerRound, place } = workerData as ThreadData
const log = createLog({ level: logLevel })
const pool = createServicePool({ databaseUrl, log, connectionsMax: 2, statementTimeoutMs: 2 * MINUTE })
const cohorts = createCohortCache({ pool, maxAgeMs: HOUR })

const memory = createRoundMemory()
const stopping = new AbortController()
let round: Promise<void> = Promise.resolve()
let hasDerived = false
let shrunkAtMs = Number.NEGATIVE_INFINITY

port.on('message', async (message: ThreadRequest) => {
  if (message.ask === 'close') {
    stopping.abort()
    await round
    await pool.end()
    reply({ did: 'close' })
    port.close()
    return
  }
  round = runRound(message)
})

/** Only after a burst, and rarely: a service that derives all the time needs its heap again at once. */
function shrinkAfterWork(): void {
  if (!hasDerived || performance.now() - shrunkAtMs < SHRINK_EVERY_MS) return
  hasDerived = false
  shrunkAtMs = performance.now()
  shrinkHeap()
}

async function runRound(message: Extract<ThreadRequest, { ask: 'round' }>): Promise<void> {
  const nowAt = new Date(message.nowMs)
  try {
    const more = await runRecomputeRound({
      pool,
      log,
      nowAt,
      profilesMax: profilesPerRound,
      place,
      among: message.among,
      memory,
      stopping: stopping.signal,
      begin(profileId) {
        hasDerived = true
        reply({ did: 'begin', profileId })
      },
      cohortOf: (accountId) => cohorts.of(accountId, nowAt),
    })
    reply({ did: 'round', more })
    if (!more) shrinkAfterWork()
  } catch (error) {
    reply({ did: 'fail', reason: error instanceof Error ? error.message : String(error) })
  }
}
