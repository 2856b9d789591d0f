import { Worker } from 'node:worker_threads'
import type { Log } from '../../log.ts'
import type { Pool } from '../store/pool.ts'
import { dueAfterModelChange, noteFailure } from '../store/recompute.ts'
import type { Answer, Ask, ThreadData } from './thread.ts'

export type RecomputeOptions = {
  pool: Pool
  databaseUrl: string
  clock: () => number
  log: Log
  /** How soon after an upload it is looked at, at the latest. */
  everyMs?: number
  threads?: number
  profilesPerRound?: number
  cohortMaxAgeMs?: number
}

export type Recompute = {
  /** Looks for due days now instead of at the next tick. */
  wake(): void
  /** When everything that was due at the moment of asking has been derived. */
  idle(): Promise<void>
  close(): Promise<void>
}

const defaults = { everyMs: 500, threads: 1, profilesPerRound: 2, cohortMaxAgeMs: 3_600_000 } as const

/**
 * Derives in the background what uploads made due. All truth is in the database: any number of these may run, in any
 * number of processes, and each may be killed at any time. Threads do the work; this side only keeps their time.
 */
export async function startRecompute(options: RecomputeOptions): Promise<Recompute> {
  const settings = { ...defaults, ...options }
  await dueAfterModelChange(options.pool)
  const lanes = Array.from({ length: settings.threads }, () => openLane(settings))
  return {
    wake: () => lanes.forEach((lane) => void lane.wake()),
    idle: async () => void (await Promise.all(lanes.map((lane) => lane.idle()))),
    close: async () => void (await Promise.all(lanes.map((lane) => lane.close()))),
  }
}

type Lane = { wake(): void; idle(): Promise<void>; close(): Promise<void> }
type Settings = RecomputeOptions & { everyMs: number; profilesPerRound: number; cohortMaxAgeMs: number }

/** Threads that may die in a row before they got to any profile. */
const deathsMax = 3

/** One thread and the clock that asks it. A thread that dies is followed by another, which goes on with the rest. */
function openLane(settings: Settings): Lane {
  let thread = startThread(settings)
  let deaths = 0
  let running: Promise<void> | null = null
  let again = false
  let closed = false

  const round = async (): Promise<'more' | 'done'> => {
    if (thread.ended()) thread = startThread(settings)
    const answer = await thread.ask({ ask: 'round', nowMs: settings.clock() })
    if (answer.did === 'fail') settings.log.error({ reason: answer.reason }, 'a round of derivation failed')
    if (!thread.ended()) {
      deaths = 0
      return answer.did === 'round' && answer.more ? 'more' : 'done'
    }
    // What it died on was put off, and the rest of its round is still due. But one that always dies before it gets to
    // anything is tried again at the next tick, not for ever at once.
    deaths = answer.did === 'fail' && answer.putOff === true ? 0 : deaths + 1
    return deaths < deathsMax ? 'more' : 'done'
  }
  const rush = async () => {
    do {
      again = false
      if ((await round()) === 'more') again = true
    } while (again && !closed)
  }
  const run = () => {
    running ??= rush().finally(() => {
      running = null
    })
    return running
  }
  const ticks = setInterval(() => void run(), settings.everyMs)
  ticks.unref()
  return {
    wake: () => {
      if (running) again = true
      else void run()
    },
    idle: async () => {
      await running
      await run()
    },
    close: async () => {
      closed = true
      clearInterval(ticks)
      await running
      await thread.close()
    },
  }
}

/** Memory a thread may take before it is ended; the process around it lives on. */
const threadMemoryMb = 1536

/** A thread as something that answers, one question at a time; when it dies, that is the answer. */
function startThread({ databaseUrl, pool, clock, log, profilesPerRound, cohortMaxAgeMs }: Settings) {
  const workerData: ThreadData = { databaseUrl, logLevel: log.level, profilesPerRound, cohortMaxAgeMs }
  const resourceLimits = { maxOldGenerationSizeMb: threadMemoryMb }
  const worker = new Worker(new URL('./thread.ts', import.meta.url), { workerData, resourceLimits })
  let waiting: ((answer: Answer) => void) | null = null
  let underWay: string | null = null
  let ended = false
  const answered = (answer: Answer) => {
    const tell = waiting
    waiting = null
    underWay = null
    tell?.(answer)
  }
  const putOffProfile = async (profileId: string) => {
    try {
      await noteFailure(pool, { profileId, now: new Date(clock()) })
      return true
    } catch (error) {
      log.error({ profileId, err: error }, 'could not put off a profile on which a thread died')
      return false
    }
  }
  worker.on('message', (answer: Answer) => {
    if (answer.did === 'begin') underWay = answer.profileId
    else answered(answer)
  })
  worker.on('error', (error) => log.error({ err: error }, 'the derivation thread broke'))
  worker.on('exit', async () => {
    ended = true
    // Else the next thread would begin with the same profile, and die of it as well.
    const profileId = underWay
    const putOff = profileId !== null && (await putOffProfile(profileId))
    answered({ did: 'fail', reason: 'the derivation thread ended', putOff })
  })
  const ask = (question: Ask) =>
    new Promise<Answer>((resolve) => {
      if (ended) return resolve({ did: 'fail', reason: 'the derivation thread has ended' })
      waiting = resolve
      worker.postMessage(question)
    })
  return {
    ask,
    ended: () => ended,
    close: async () => {
      if (ended) return
      await ask({ ask: 'close' })
      await worker.terminate()
    },
  }
}
