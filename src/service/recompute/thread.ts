import { parentPort, workerData } from 'node:worker_threads'
import { createLog } from '../../log.ts'
import { openPool } from '../store/pool.ts'
import { openCohorts } from './cohorts.ts'
import { runRound } from './round.ts'

/**
 * Runs in a thread of its own, so that deriving never holds up a request: the whole of it, its connection to the
 * database included. Works only when asked, one round at a time, and answers each with what was done.
 */
export type ThreadData = { databaseUrl: string; logLevel: string; profilesPerRound: number; cohortMaxAgeMs: number }
export type Ask = { ask: 'round'; nowMs: number } | { ask: 'close' }
/**
 * `begin` comes before each profile, so that one on which the thread dies is known; it answers nothing. `putOff`: the
 * thread has died, and the profile it was at will not be met again at once.
 */
export type Answer =
  | { did: 'begin'; profileId: string }
  | { did: 'round'; profiles: number; more: boolean }
  | { did: 'fail'; reason: string; putOff?: boolean }
  | { did: 'close' }

const port = parentPort
if (!port) throw new Error('start derivation thread: it was not started as a thread')
const answer = (said: Answer) => port.postMessage(said)

// The one who starts this thread hands over ThreadData; a structured clone has lost its type.
const { databaseUrl, logLevel, profilesPerRound, cohortMaxAgeMs } = workerData as ThreadData
const log = createLog({ level: logLevel })
const pool = openPool({ databaseUrl, log, connectionsMax: 2, statementTimeoutMs: 120_000 })
const cohorts = openCohorts({ pool, maxAgeMs: cohortMaxAgeMs })

port.on('message', async (message: Ask) => {
  if (message.ask === 'close') {
    await pool.end()
    answer({ did: 'close' })
    port.close()
    return
  }
  const now = new Date(message.nowMs)
  try {
    const { profiles, more } = await runRound({
      pool,
      log,
      now,
      profilesMax: profilesPerRound,
      begin: (profileId) => answer({ did: 'begin', profileId }),
      cohortOf: (accountId) => cohorts.of(accountId, now),
    })
    answer({ did: 'round', profiles, more })
  } catch (error) {
    answer({ did: 'fail', reason: error instanceof Error ? error.message : String(error) })
  }
})
