import { schedulesOf } from '../../config/schedules.ts'
import { pulledStreams } from '../../config/streams.ts'
import { endsWithin, isFulfilled } from '../base/sleep.ts'
import { MINUTE, SECOND } from '../base/time/units.ts'
import { readBudgetInUse, troubleText } from '../operations/read-status.ts'
import { type BudgetStore, lanes } from '../pipeline/fleet/budget.ts'
import type { QuickFacts } from '../pipeline/fleet/fleet-facts.ts'
import { openBudgetStore } from '../pipeline/queue/open-budget-store.ts'
import { openNextSlots } from '../pipeline/schedule/slot-watch.ts'
import { newestAuditId } from '../pipeline/warehouse/audit/stored-audit.ts'
import { listDrift } from '../pipeline/warehouse/reports/drift-report.ts'
import { countSilentDifferences } from '../pipeline/warehouse/reports/lateness-report.ts'
import { createReports } from '../pipeline/warehouse/reports/status-report.ts'
import type { Run } from '../pipeline/warehouse/runs/stored-runs.ts'
import { lastSilenceEventAt } from '../pipeline/warehouse/silence/list-silence.ts'
import type { DashboardContext } from './dashboard-context.ts'

export type Now = Awaited<ReturnType<ReturnType<typeof openNow>['read']>> & { readonly sentence: Sentence }

const RUNS_SHOWN = 14
/** How many runs are searched for a finished nightly: sweeps come every ten minutes. */
const RUNS_SEARCHED = 400

/**
 * The state of the pipeline as the first screen shows it. Questions over all profiles are asked in the background, rest longer than
 * they take, and answer with their age: a look at the screen waits for none of them.
 */
export function openNow(context: DashboardContext) {
  const { pipeline, config, watch, addresses } = context
  const { upstream } = addresses
  const slots = openNextSlots(schedulesOf(config.schedule))
  const budgetStore = openBudgetStore(pipeline.engine, pipeline.pool, addresses.queueUrl)
  const asked = askInBackground(context, budgetStore)
  const readRuns = keepingLast(() => pipeline.runs.listNewest(RUNS_SEARCHED))
  const read = async () => {
    const { last: runs, isAway } = await readRuns()
    const nowMs = pipeline.clock.now()
    const quick = watch.quick()
    return {
      at: new Date(nowMs),
      streamNames: pulledStreams.map(({ name }) => name),
      isWarehouseAway: isAway,
      databaseAnsweredAt: dateOf(watch.databaseAnsweredAtMs()),
      queueAnsweredAt: dateOf(watch.queueAnsweredAtMs()),
      engine: pipeline.engine.kind,
      upstreamUrl: upstream.url,
      upstream: asked.upstream(),
      budget: asked.budget(),
      streams: asked.streams(),
      counts: asked.counts(),
      nightly: runs?.find(({ kind, state }) => kind === 'nightly' && state !== 'running') ?? null,
      runs: runs?.filter(isTold).slice(0, RUNS_SHOWN) ?? null,
      quick: quick ? factsShown(quick) : null,
      nextSlots: slots.find(nowMs),
    }
  }
  return {
    read: shared(async () => {
      const now = await read()
      return { ...now, sentence: sentenceOf(now) }
    }),
    async close() {
      await slots.close()
      await budgetStore.close()
    },
  }
}

function askInBackground({ reading, addresses, config }: DashboardContext, budgetStore: BudgetStore) {
  const reports = createReports({ pool: reading })
  const names = pulledStreams.map(({ name }) => name)
  return {
    streams: openBackgroundAnswer({ maxAgeMs: 10 * SECOND, ask: () => reports.streamReports(names) }),
    counts: openBackgroundAnswer({
      maxAgeMs: 5 * SECOND,
      ask: async () => ({
        profiles: await reports.countProfiles(),
        failures: await reports.countFailures(),
        quarantine: await reports.countQuarantined(),
        outbox: await reports.countWaiting(),
        drift: await listDrift(reading, { all: false }),
        silent: await countSilentDifferences(reading),
        silenceChangedAt: await lastSilenceEventAt(reading),
        newestAuditId: await newestAuditId(reading),
      }),
    }),
    upstream: openBackgroundAnswer({ maxAgeMs: MINUTE / 2, ask: () => reachUpstream(addresses.upstream.url) }),
    budget: openBackgroundAnswer({ maxAgeMs: 5 * SECOND, ask: () => readBudgetInUse(budgetStore, config.budget) }),
  }
}

const SHARED_MS = SECOND / 2

/** Pages that ask in the same half second share one answer. */
function shared<T>(ask: () => Promise<T>): () => Promise<T> {
  let asked: { readonly answer: Promise<T>; readonly untilMs: number } | undefined
  return () => {
    const nowMs = performance.now()
    if (!asked || nowMs > asked.untilMs) asked = { answer: ask(), untilMs: nowMs + SHARED_MS }
    return asked.answer
  }
}

/** A warehouse that has not answered for this long is reported as away. With the pause between two looks of a page, within five seconds. */
const ANSWER_MAX_MS = 1.5 * SECOND

/** The last answer, and whether the warehouse is away: it failed twice, or gave no answer in time. A question that hangs is not repeated. */
function keepingLast<T>(ask: () => Promise<T>): () => Promise<{ last: T | undefined; isAway: boolean }> {
  let last: T | undefined
  let isFailed = false
  let asking: Promise<void> | undefined
  let askedAtMs = 0
  return async () => {
    if (!asking) askedAtMs = performance.now()
    asking ??= ask()
      .catch(ask)
      .then(
        (answer) => {
          last = answer
          isFailed = false
        },
        () => {
          isFailed = true
        },
      )
      .finally(() => {
        asking = undefined
      })
    // Nobody waits again for a question that hangs already.
    const isAnswered = await endsWithin(asking, Math.max(0, askedAtMs + ANSWER_MAX_MS - performance.now()))
    return { last, isAway: !isAnswered || isFailed }
  }
}

const dateOf = (atMs: number | undefined) => (atMs === undefined ? null : new Date(atMs))

/** A sweep that found nothing to do says nothing. */
const isTold = ({ kind, state, done, failed, enqueued }: Run): boolean =>
  kind !== 'sweep' || state === 'running' || done + failed + enqueued > 0

/** The longest trouble of each lane, in words. */
function factsShown(quick: QuickFacts) {
  const troubles = lanes.flatMap((lane) => {
    const trouble = quick.troubles.find((lag) => lag.lane === lane)
    const waiting = quick.queue?.find((lag) => lag.lane === lane)?.waiting ?? 0
    return trouble ? [troubleText(trouble, `${waiting} jobs`)] : []
  })
  return { ...quick, troubles, lastNightlyAt: dateOf(quick.lastNightlyMs ?? undefined) }
}

const REACH_MAX_MS = 5 * SECOND

/** Any answer counts: it is there. */
async function reachUpstream(url: string) {
  const startedAtMs = performance.now()
  const isReached = await isFulfilled(fetch(url, { method: 'HEAD', signal: AbortSignal.timeout(REACH_MAX_MS) }))
  return { isReached, tookMs: Math.round(performance.now() - startedAtMs) }
}

type BackgroundAnswerOptions<T> = {
  /** How old the answer may get before it is asked for again. */
  readonly maxAgeMs: number
  ask(): Promise<T>
}

/** An answer with the time at which it was asked for. Null: none yet. */
type BackgroundAnswer<T> = { readonly value: T; readonly askedAt: Date } | null

/** A question that takes a second is asked every five seconds at most. */
const REST_PER_WORK = 4
const RETRY_AFTER_MS = 5 * SECOND

/** Gives the last answer, at once. Where it is too old it is asked for again in the background. */
function openBackgroundAnswer<T>({ maxAgeMs, ask }: BackgroundAnswerOptions<T>): () => BackgroundAnswer<T> {
  let kept: BackgroundAnswer<T> = null
  let dueAtMs = 0
  let isAsking = false
  const refresh = async () => {
    const startedAtMs = performance.now()
    try {
      const askedAt = new Date()
      kept = { value: await ask(), askedAt }
      const tookMs = performance.now() - startedAtMs
      dueAtMs = performance.now() + Math.max(maxAgeMs, tookMs * REST_PER_WORK)
    } catch {
      dueAtMs = performance.now() + RETRY_AFTER_MS // the former answer stays, with its age
    } finally {
      isAsking = false
    }
  }
  return () => {
    if (!isAsking && performance.now() >= dueAtMs) {
      isAsking = true
      void refresh()
    }
    return kept
  }
}

/** `well`: nothing to do. `busy`: work is under way. `odd`: worth a look. `bad`: work has stopped until an operator acts. */
type Tone = 'well' | 'busy' | 'odd' | 'bad' | 'unknown'
type Sentence = { readonly tone: Tone; readonly text: string }

type PipelineNow = {
  readonly isWarehouseAway: boolean
  readonly upstream: { readonly value: { readonly isReached: boolean } } | null
  readonly counts: {
    readonly value: {
      readonly profiles: { readonly new: number; readonly active: number; readonly gone: number }
      readonly failures: ReadonlyArray<{ readonly count: number }>
      readonly quarantine: ReadonlyArray<{ readonly count: number }>
    }
  } | null
  readonly quick: {
    readonly halted: string | null
    readonly workers: number
    readonly troubles: readonly string[]
    readonly runs: ReadonlyArray<{ readonly kind: string; readonly left: number }>
    readonly slots: ReadonlyArray<{ readonly schedule: string; readonly missed: number }>
    readonly due: number
  } | null
}

/** One sentence for the whole pipeline: the first thing that matters. */
export function sentenceOf(now: PipelineNow): Sentence {
  const { quick, upstream, isWarehouseAway } = now
  if (isWarehouseAway) return { tone: 'bad', text: 'The warehouse does not answer.' }
  if (!quick) return { tone: 'unknown', text: 'Looking …' }
  if (quick.halted) return { tone: 'bad', text: `Upstream refuses our account: ${quick.halted}` }
  const underWay = quick.runs.filter(({ left }) => left > 0)
  if (quick.workers === 0 && (underWay.length > 0 || quick.due > 0))
    return {
      tone: 'bad',
      text: `No worker is alive, and ${numbered(quick.due, 'profile')} ${quick.due === 1 ? 'waits' : 'wait'}.`,
    }
  if (upstream?.value.isReached === false) return { tone: 'bad', text: 'Upstream does not answer.' }
  const [trouble] = quick.troubles
  if (trouble) return { tone: 'odd', text: `${trouble[0]?.toUpperCase()}${trouble.slice(1)}.` }
  const missed = quick.slots.find((slot) => slot.missed > 0)
  if (missed) return { tone: 'odd', text: `The ${missed.schedule} is overdue: does anything schedule?` }
  if (underWay.length > 0) {
    const left = underWay.reduce((sum, run) => sum + run.left, 0)
    return { tone: 'busy', text: `${kindsText(underWay)} under way: ${numbered(left, 'profile')} left.` }
  }
  return restSentence(now)
}

function restSentence({ counts }: PipelineNow): Sentence {
  const sumOf = (list: ReadonlyArray<{ count: number }> = []) => list.reduce((sum, { count }) => sum + count, 0)
  const failures = sumOf(counts?.value.failures)
  const quarantined = sumOf(counts?.value.quarantine)
  const parts = [
    ...(failures > 0 ? [numbered(failures, 'failure')] : []),
    ...(quarantined > 0 ? [`${numbered(quarantined, 'record')} in quarantine`] : []),
  ]
  if (parts.length > 0) return { tone: 'odd', text: `${parts.join(' and ')}; all else is well.` }
  const { active = 0, new: added = 0, gone = 0 } = counts?.value.profiles ?? {}
  if (!counts) return { tone: 'unknown', text: 'Counting …' }
  if (active + added + gone === 0) return { tone: 'unknown', text: 'Nobody is known yet, so nothing is read.' }
  return { tone: 'well', text: 'All is well: everything that is due was read.' }
}

const kindsText = (runs: ReadonlyArray<{ kind: string }>): string => {
  const text = [...new Set(runs.map(({ kind }) => kind))].join(', ')
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}
const numbered = (count: number, noun: string): string =>
  `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`
