import { backfillProfile } from '../../jobs/backfill-profile.ts'
import { eraseProfile } from '../../jobs/erase-profile.ts'
import { registerProfile } from '../../jobs/register-profile.ts'
import { syncProfile } from '../../jobs/sync-profile.ts'
import { Problem } from '../../src/base/errors.ts'
import { createLog } from '../../src/base/log.ts'
import type { settleReading } from '../../src/pipeline/ledger/judge.ts'
import type { JobCounts, Order } from '../../src/pipeline/transfer/order.ts'
import type { Production } from '../../src/pipeline/warehouse/runs/production.ts'
import type { Runs } from '../../src/pipeline/warehouse/runs/stored-runs.ts'
import type { JobContext } from '../../src/pipeline/work/job.ts'
import { createActs } from './acts.ts'
import { BEGIN, HISTORY, type ProcessSettings, SECOND_READING, SETTLE, SKEW, versions } from './circumstances.ts'
import { carryOutOrder, createQueue, produceInWorld } from './fleet.ts'
import { type Cut, createModelLine, type Line, type LineParts } from './line.ts'
import { violationsOfOtherPlans } from './other-plans.ts'
import { violationsOfPlan } from './plan-promises.ts'
import { violationsOf } from './promises.ts'
import { createSituations, type Situations } from './situations.ts'
import { type Ask, createChance, createStage, Died } from './stage.ts'
import { unfinishedIn } from './unfinished.ts'
import { createUpstream, manners, wordings } from './upstream.ts'
import { createWarehouse, type SimulatedProcess } from './warehouse.ts'

const log = createLog({ level: 'silent' })
const neverAborted = new AbortController().signal
const names = ['ada', 'bob'] as const
/** So long that what upstream derives last is read, twice, and refused windows are asked for again. */
const REST_ROUNDS = 6
const READS = /^(ledger\.plan|outbox\.readWaiting|profiles\.registrationLeftMs|runs\.(get|list)|lists\.)/

export type WorldOptions = {
  readonly settle?: typeof settleReading | undefined
  readonly situations?: Situations
  /** The warehouse beneath the world. Absent: the model alone. */
  readonly openLine?: (parts: LineParts) => Line
}

type Process = SimulatedProcess & { aheadMs: number }

/** The real jobs between a simulated upstream, warehouse, clock and source of chance. One seed makes one world. */
export async function createWorld(seed: number, options: WorldOptions = {}) {
  const { situations = createSituations(), openLine, settle } = options
  const { saw } = situations
  const chance = createChance(seed)
  const clocks = { trueMs: BEGIN, databaseAheadMs: 0 }
  const databaseNow = () => clocks.trueMs + clocks.databaseAheadMs
  /** In a third of all worlds each: profiles are erased and registered often; clocks are set; two versions work. */
  const about = { erasure: chance(3) === 0, clocks: chance(3) === 0, versions: chance(3) === 0 }
  const manner = manners[chance(manners.length)] ?? 'touching'
  const wording = wordings[chance(wordings.length)] ?? 'no word'
  const hidesDate = !about.clocks && chance(3) === 0
  const upstream = createUpstream({
    ...{ chance, manner, wording, hidesDate, situations },
    now: () => clocks.trueMs,
    givesTags: chance(2) === 0,
    revisesLate: chance(4) === 0,
  })
  const broken: string[] = []
  const parts: LineParts = {
    ...{ now: databaseNow, saw, settle },
    broken: (violations) => void broken.push(...violations),
    onPlan: (input, windows) =>
      void broken.push(...violationsOfPlan(input, windows), ...violationsOfOtherPlans(input, windows)),
  }
  const line = openLine?.(parts) ?? createModelLine((ids) => createWarehouse({ ...parts, ids }))
  const stage = createStage(chance)
  const processes = processesOf(about.versions)
  const queue = createQueue()
  const grouped = { is: false }
  const atWork = new Map<number, { readonly what: string; readonly process: Process; readonly order?: Order }>()
  const taken: Production[] = []
  let workers = 0
  let isCalm = false

  const ids: string[] = []
  for (const name of names) {
    const isNew = about.erasure || chance(4) === 0
    upstream.add(name, isNew ? 'unknown' : 'known')
    ids.push(await line.addProfile(name, isNew ? 'new' : 'active', BEGIN - HISTORY))
  }

  function processesOf(isMixed: boolean): Process[] {
    const second: ProcessSettings = isMixed ? versions[1] : { ...versions[0], zone: versions[1].zone }
    const belief = chance(3) === 0 ? { belief: versions[1].belief } : {}
    return [versions[0], second].map((settings): Process => {
      const process = { ...settings, ...belief, aheadMs: hidesDate ? 0 : chance(4) * (SKEW / 3), clock: () => 0 }
      process.clock = () => databaseNow() + process.aheadMs
      return process
    })
  }

  function drawCut(name: string): Cut | undefined {
    if (isCalm || grouped.is || READS.test(name) || chance(15) > 0) return undefined
    const cut: Cut = { when: chance(2) === 0 ? 'before the commit' : 'after the commit', at: chance(12) }
    const what: Record<string, string> = { 'writer.store': 'a reading', 'outbox.markSent': 'an outbox mark' }
    const of = what[name]
    if (of === 'a reading' || of === 'an outbox mark') saw(`a connection cut ${cut.when} of ${of}`)
    else
      saw(
        name === 'profiles.erase'
          ? 'a connection cut within an erasure'
          : 'a connection cut within another transaction',
      )
    if (name === 'runs.recordOrders' && cut.when === 'after the commit')
      saw('a producer that dies after it recorded a page')
    return cut
  }

  /** The rooms of the warehouse as a worker asks them: each call is one transaction, at a moment of its own. */
  function asked<Rooms>(worker: number, room: string, process: Process): Rooms {
    const ask = stage.asker(worker)
    const method =
      (name: string) =>
      (...args: unknown[]) =>
        ask(`${room}.${name}`, () => perform(worker, { process, room, method: name, args }))
    return new Proxy({}, { get: (_, name) => method(String(name)) }) as Rooms
  }

  async function perform(worker: number, call: { process: Process; room: string; method: string; args: unknown[] }) {
    const name = `${call.room}.${call.method}`
    const others = stage.pendingOf((other) => other !== worker && atWork.has(other))
    if (name === 'profiles.erase') seeErasure(others)
    if (name === 'profiles.endRegistration') saw('a registration undone because its profile was erased')
    if (call.process.zone !== 'UTC') saw('a process in another time zone at work')
    if (about.versions && call.process === processes[1]) saw('two versions of the settings at work')
    if (/^(writer\.store|outbox\.markSent)$/.test(name) && !isCalm && !grouped.is && chance(20) === 0) {
      if (name === 'writer.store') saw('a reading stored twice')
      await line.call(call)
    }
    const result = await line.call({ ...call, cut: drawCut(name) })
    if (name === 'profiles.registrationLeftMs' && Number(result) > 0) saw('an erasure that waits for a registration')
    return result
  }

  function seeErasure(others: readonly string[]): void {
    if (others.some((one) => /^(read|writer\.store)/.test(one))) saw('an erasure while a reading is under way')
    if (others.some((one) => /^(push|outbox\.markSent)/.test(one))) saw('an erasure while a push is under way')
  }

  const passTime = (ms: number) => {
    clocks.trueMs += ms
  }

  function contextOf(worker: number, process: Process, runId: string | undefined): JobContext {
    const ask: Ask = stage.asker(worker)
    const room = <T>(name: string) => asked<T>(worker, name, process)
    return {
      upstream: upstream.verbs({ ask, worker, clock: process.clock }),
      ledger: room('ledger'),
      outbox: room('outbox'),
      writer: room('writer'),
      profiles: room('profiles'),
      forgetJobs: (profileId) => ask('forget jobs', () => queue.forget(profileId)),
      verification: {
        listDrawn: async () => [],
        verify: () => Promise.reject(new Error('nothing is verified here')),
        count: async () => undefined,
      },
      now: process.clock,
      pause: (ms) => ask('pause', () => passTime(ms)),
      signal: neverAborted,
      lane: 'nightly',
      runId,
      lastAttempt: chance(3) === 0,
      settings: { historyMs: HISTORY, windowsAtOnce: 1 + chance(3), secondReadingMs: SECOND_READING },
      log,
    }
  }

  const jobs = {
    'sync-profile': (profileId: string, context: JobContext) => syncProfile.run({ profileId }, context),
    'backfill-profile': (profileId: string, context: JobContext, params: Order['params']) =>
      backfillProfile.run(backfillProfile.payload.parse({ profileId, ...params }), context),
    'register-profile': (profileId: string, context: JobContext) => registerProfile.run({ profileId }, context),
    'erase-profile': (profileId: string, context: JobContext) => eraseProfile.run({ profileId }, context),
  }
  type JobName = keyof typeof jobs
  const isJobName = (name: string): name is JobName => name in jobs

  /** Lets a worker of one of the processes do something. `order`: the queue's, which gets it back if the worker dies. */
  function employ(
    what: string,
    order: Order | undefined,
    work: (worker: number, process: Process) => Promise<unknown>,
  ) {
    workers += 1
    const worker = workers
    const process = processes[chance(processes.length)] ?? processesOf(false)[0]
    if (!process) return what
    atWork.set(worker, order ? { what, process, order } : { what, process })
    void work(worker, process)
      .catch((error: unknown) => {
        if (!(error instanceof Problem) && !(error instanceof Died)) broken.push(`${what} threw ${error}`)
        if (order) queue.add(order)
      })
      .finally(() => atWork.delete(worker))
    return `${what} by #${worker}`
  }

  function begin(job: JobName, profileId: string, params: Order['params'] = {}): string {
    return employ(`${job} of ${profileId}`, undefined, (worker, process) =>
      jobs[job](profileId, contextOf(worker, process, undefined), params),
    )
  }

  /** A job of the queue. At times its worker stalls after it was counted, and the queue hands it out again. */
  function carryOut(order: Order): string {
    const { job, profileId, params, runId } = order
    if (!isJobName(job)) throw new Error(`there is no job ${job}`)
    return employ(`${job} of ${profileId} for run ${runId}`, order, async (worker, process) => {
      const context = contextOf(worker, process, runId)
      const ledger = asked<Parameters<typeof carryOutOrder>[0]['ledger']>(worker, 'ledger', process)
      const run = (): Promise<JobCounts> => jobs[job](profileId, context, params)
      const { lastAttempt } = context
      await carryOutOrder({ order, begunAtMs: Math.floor(process.clock()), lastAttempt, ledger, run })
      if (isCalm || chance(10) > 0) return
      saw('a job that runs again after it was counted')
      queue.add(order)
    })
  }

  function produceRun(make: (runs: Runs) => Promise<Parameters<typeof produceInWorld>[0] | undefined>, what: string) {
    return employ(what, undefined, async (worker, process) => {
      const runs = asked<Runs>(worker, 'runs', process)
      const run = await make(runs)
      if (!run) return
      const lists = asked<Parameters<typeof produceInWorld>[1]['lists']>(worker, 'lists', process)
      const onTaken = (production: Production) => void taken.push(production)
      await produceInWorld(run, {
        ask: stage.asker(worker),
        runs,
        lists,
        queue,
        signal: neverAborted,
        passTime,
        onTaken,
      })
    })
  }

  const acts = createActs({
    ...{ chance, clocks, databaseNow, about, situations, upstream, line, stage, processes, queue, atWork, taken, ids },
    ...{ begin, carryOut, produceRun, passTime, grouped },
    compare: async () => void broken.push(...(await line.differences())),
  })
  const state = { manner, upstream, model: line.model }

  async function violations(): Promise<string[]> {
    return [...broken.splice(0), ...violationsOf(state), ...(await line.differences())]
  }

  async function settleDown(): Promise<void> {
    while (!stage.isQuiet()) await stage.step()
    await stage.letRun()
  }

  return {
    upstreamChooses: `${manner}, with ${wording}`,
    line,
    upstream,
    clocks,
    situations,
    step: () => acts.step(),
    violations,
    close: () => stage.close(),
    /** No worker dies and no request fails any more, time goes on, and jobs run until nothing is due. */
    async rest(): Promise<string[]> {
      upstream.calmDown()
      isCalm = true
      clocks.databaseAheadMs = 0
      for (let round = 0; round < REST_ROUNDS; round += 1) {
        await settleDown()
        passTime(2 * SETTLE)
        for (const id of ids) begin('sync-profile', id)
        for (const run of line.model.data.runs.values())
          if (run.state === 'running') produceRun(async (runs) => runs.get(run.id), `produce run ${run.id} again`)
        await settleDown()
        while (queue.jobs.length > 0) {
          for (const order of queue.jobs.splice(0)) carryOut(order)
          await settleDown()
        }
      }
      const busy = [...atWork.values()].map(({ what }) => what)
      return [...(await violations()), ...unfinishedIn({ ...state, ids, nowMs: databaseNow(), busy })]
    },
  }
}
