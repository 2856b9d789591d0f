import { backfillProfile } from '../../jobs/backfill-profile.ts'
import { eraseProfile } from '../../jobs/erase-profile.ts'
import { registerProfile } from '../../jobs/register-profile.ts'
import { syncProfile } from '../../jobs/sync-profile.ts'
import { Problem } from '../../src/errors.ts'
import { settleReading } from '../../src/ledger/judge.ts'
import { createLog } from '../../src/log.ts'
import { subtract } from '../../src/time/spans.ts'
import type { JobCounts } from '../../src/transfer/order.ts'
import type { JobContext } from '../../src/work/job.ts'
import { handIn } from './outbox.ts'
import { violationsOf } from './promises.ts'
import { createChance, createStage } from './stage.ts'
import { BAD, BEGIN, createUpstream, HISTORY, manners, SETTLE, SKEW, VALUES, wordings } from './upstream.ts'
import { createWarehouse } from './warehouse.ts'

const log = createLog({ level: 'silent' })
const neverAborted = new AbortController().signal
const names = { '1': 'ada', '2': 'bob' } as const
const ids = ['1', '2'] as const
const WORKERS_MAX = 4

/** The real jobs between a simulated upstream, warehouse, clock and source of chance. One seed makes one world. */
export function createWorld(seed: number, settle: typeof settleReading = settleReading) {
  const chance = createChance(seed)
  let nowMs = BEGIN
  const now = () => nowMs
  const manner = manners[chance(manners.length)] ?? 'touching'
  /** In a third of all worlds profiles are erased and registered often. */
  const isAboutErasure = chance(3) === 0
  const stage = createStage(chance)
  const wording = wordings[chance(wordings.length)] ?? 'no word'
  const upstream = createUpstream({ chance, now, manner, wording })
  const warehouse = createWarehouse({ chance, now, settle })
  const atWork = new Map<number, string>()
  const bugs: string[] = []
  let workers = 0
  let items = 0

  for (const id of ids) {
    const isNew = isAboutErasure || chance(4) === 0
    upstream.add(names[id], isNew ? 'unknown' : 'known')
    warehouse.add(id, names[id], isNew ? 'new' : 'active')
  }

  /** No job that takes part verifies. */
  const noVerification: JobContext['verification'] = {
    listDrawn: async () => [],
    verify: () => Promise.reject(new Error('nothing is verified here')),
    count: async () => undefined,
  }

  function contextOf(worker: number): JobContext {
    const ask = stage.asker(worker)
    const aheadMs = chance(SKEW)
    const clock = () => nowMs + aheadMs
    return {
      upstream: upstream.verbs({ ask, worker, clock }),
      ...warehouse.parts(ask),
      forgetJobs: () => ask('forget jobs', () => 0),
      verification: noVerification,
      now: clock,
      pause: () => ask('pause', () => undefined),
      signal: neverAborted,
      lane: 'nightly',
      lastAttempt: chance(3) === 0,
      settings: { historyMs: HISTORY, windowsAtOnce: 1 + chance(3), secondReadingMs: 1 },
      log,
    }
  }

  const jobs = {
    sync: (profileId: string, context: JobContext) => syncProfile.run({ profileId }, context),
    backfill: (profileId: string, context: JobContext) => {
      const from = BEGIN - HISTORY + chance(HISTORY)
      return backfillProfile.run({ profileId, from, to: from + 1 + chance(40), again: chance(2) === 0 }, context)
    },
    register: (profileId: string, context: JobContext) => registerProfile.run({ profileId }, context),
    erase: (profileId: string, context: JobContext) => eraseProfile.run({ profileId }, context),
  }
  type JobName = keyof typeof jobs

  function start(name: JobName, profileId: string): string {
    workers += 1
    const worker = workers
    atWork.set(worker, name)
    const run: Promise<JobCounts> = jobs[name](profileId, contextOf(worker))
    run
      .catch((error: unknown) => {
        if (!(error instanceof Problem)) bugs.push(`${name} threw ${error}`)
      })
      .finally(() => atWork.delete(worker))
    return `${name} of ${profileId} by #${worker}`
  }

  const acts = {
    wait: () => {
      nowMs += 1 + chance(6)
    },
    revise: () => upstream.revise(names[ids[chance(2)] ?? '1']),
    /** The app hands in a few logs. */
    handIn: () => {
      const id = ids[chance(2)] ?? '1'
      const there = upstream.people.get(names[id])
      const here = warehouse.people.get(id)
      const logs = Array.from({ length: 1 + chance(3) }, () => {
        const one = there?.truth.get(1 + chance(8))
        if (!one || one.startMs > nowMs) return []
        items += 1
        const name = chance(15) === 0 ? BAD : one.name
        return [{ id: `log-${items}`, name, value: chance(VALUES), startAtMs: one.startMs, endAtMs: one.endMs }]
      }).flat()
      if (here && logs.length > 0) handIn(here, logs)
    },
    begin: () => {
      if (atWork.size >= WORKERS_MAX) return 'all are busy'
      const dice = chance(60)
      const [erasures, registrations] = isAboutErasure ? [12, 30] : [1, 4]
      const name =
        dice < erasures ? 'erase' : dice < registrations ? 'register' : dice < registrations + 12 ? 'backfill' : 'sync'
      return start(name, ids[chance(2)] ?? '1')
    },
    die: () => {
      const [victim] = [...atWork.keys()].slice(chance(Math.max(1, atWork.size)))
      if (victim === undefined || chance(4) > 0) return
      stage.kill(victim)
      atWork.delete(victim)
      return `#${victim} dies`
    },
    go: () => stage.step(),
  }
  const weighed = ['wait', 'revise', 'handIn', 'begin', 'begin', 'die', ...Array<'go'>(12).fill('go')] as const

  const state = { manner, upstream, warehouse, now }
  const violations = () => [...bugs, ...violationsOf(state)]

  return {
    upstreamTells: `${manner}, with ${wording}`,
    async step(): Promise<string> {
      const act = weighed[chance(weighed.length)] ?? 'wait'
      const said = await acts[act]()
      return said ?? act
    },
    violations,
    /** No worker dies and no request fails any more, time goes on, and jobs run until nothing is due. */
    async rest(): Promise<string[]> {
      upstream.calmDown()
      for (let round = 0; round < 8; round += 1) {
        while (!stage.isQuiet()) await stage.step()
        nowMs += 2 * SETTLE
        for (const id of ids) start('sync', id)
      }
      while (!stage.isQuiet()) await stage.step()
      await stage.letRun()
      return [...violations(), ...unfinished()]
    },
  }

  function unfinished(): string[] {
    const left = atWork.size > 0 ? [`still at work: ${[...atWork.values()]}`] : []
    return [...left, ...ids.flatMap((id) => unfinishedOf(id))]
  }

  function unfinishedOf(id: (typeof ids)[number]): string[] {
    const here = warehouse.people.get(id)
    const there = upstream.people.get(names[id])
    if (!here) {
      return there?.state === 'known' ? [`${id} was erased here, and is there upstream`] : []
    }
    if (here.state === 'gone') return []
    const wanted = { startMs: BEGIN - HISTORY, endMs: nowMs - 6 * SETTLE }
    const waiting = [...here.items.values()].filter(({ state: is }) => is === 'waiting')
    return [
      ...(subtract([wanted], here.ledger.covered).length > 0 ? [`${id} is not covered`] : []),
      ...waiting.map((item) => `${item.id} of ${id} still waits`),
      ...(there?.state === 'known' && here.state === 'active'
        ? []
        : [`${id} is ${here.state} here, ${there?.state} there`]),
    ]
  }
}
