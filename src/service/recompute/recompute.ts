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

const defaults = { everyMs: 500, threads: 1, profilesPerRound: 8, cohortMaxAgeMs: 3_600_000 } as const

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

/** One thread and the clock that asks it. A thread that dies is started anew at the next tick. */
function openLane(settings: Settings): Lane {
  let thread = startThread(settings)
  let running: Promise<void> | null = null
  let again = false
  let closed = false

  const rush = async () => {
    do {
      again = false
      const answer = await thread.ask({ ask: 'round', nowMs: settings.clock() })
      if (answer.did === 'fail') settings.log.error({ reason: answer.reason }, 'a round of derivation failed')
      if (answer.did === 'round' && answer.more) again = true
      if (thread.ended() && !closed) thread = startThread(settings)
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
  worker.on('message', (answer: Answer) => {
    if (answer.did === 'begin') underWay = answer.profileId
    else answered(answer)
  })
  worker.on('error', (error) => log.error({ err: error }, 'the derivation thread broke'))
  worker.on('exit', async () => {
    ended = true
    // Else the next thread would begin with the same profile, and die of it as well.
    const profileId = underWay
    if (profileId !== null) {
      await noteFailure(pool, { profileId, now: new Date(clock()) }).catch((error: unknown) =>
        log.error({ profileId, err: error }, 'could not put off a profile on which a thread died'),
      )
    }
    answered({ did: 'fail', reason: 'the derivation thread ended' })
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
