import { MINUTE, SECOND } from '../../src/base/time/units.ts'
import type { Order } from '../../src/pipeline/transfer/order.ts'
import type { OutboxItem } from '../../src/pipeline/transfer/parcel.ts'
import type { Production } from '../../src/pipeline/warehouse/runs/production.ts'
import type { Run, Runs } from '../../src/pipeline/warehouse/runs/stored-runs.ts'
import { BEGIN, HISTORY, LOGS, SKEW, UNIT } from './circumstances.ts'
import type { SimulatedQueue } from './fleet.ts'
import type { Line } from './line.ts'
import type { Situations } from './situations.ts'
import type { Chance, createStage } from './stage.ts'
import { loggedName, VALUES } from './truth.ts'
import { BAD, type SimulatedUpstream } from './upstream.ts'
import type { SimulatedProcess } from './warehouse.ts'

const WORKERS_MAX = 4
const MOMENTS = [0, 10 * SECOND, 10 * SECOND, 20 * SECOND, MINUTE, 10 * MINUTE, 50 * MINUTE, 60 * MINUTE]
const JUMPS = [-120 * MINUTE, -10 * MINUTE, -SKEW, 0, SKEW, 10 * MINUTE, 120 * MINUTE]

type Job = 'sync-profile' | 'backfill-profile' | 'register-profile' | 'erase-profile'

type Circumstances = {
  readonly chance: Chance
  readonly clocks: { trueMs: number; databaseAheadMs: number }
  readonly databaseNow: () => number
  readonly about: { readonly erasure: boolean; readonly clocks: boolean }
  readonly situations: Situations
  readonly upstream: SimulatedUpstream
  readonly line: Line
  readonly stage: ReturnType<typeof createStage>
  readonly processes: ReadonlyArray<SimulatedProcess & { aheadMs: number }>
  readonly queue: SimulatedQueue
  readonly atWork: Map<number, { readonly what: string; readonly process: SimulatedProcess; readonly order?: Order }>
  readonly taken: Production[]
  readonly ids: readonly string[]
  readonly begin: (job: Job, profileId: string, params?: Order['params']) => string
  readonly carryOut: (order: Order) => string
  readonly produceRun: (make: (runs: Runs) => Promise<Run | undefined>, what: string) => string
  readonly passTime: (ms: number) => void
  /** Whether several readings arrive in this moment: they share one connection. */
  readonly grouped: { is: boolean }
  /** Holds the model against the real warehouse. */
  readonly compare: () => Promise<void>
}

/** The acts of a world. Each returns a few words about its effect. */
export function createActs(world: Circumstances) {
  const { chance, clocks, about, situations, upstream, line, stage, processes, queue, atWork, ids } = world
  const { saw } = situations
  const anyId = () => ids[chance(ids.length)] ?? ''
  const people = () => line.model.data.people
  const anyProcess = () => processes[chance(processes.length)] ?? processes[0]
  const handedIn: OutboxItem[] = []
  let items = 0

  /** One call at a moment of its own, by nobody's worker: of an app, an operator, another scheduler. */
  async function callNow(room: string, method: string, args: unknown[]): Promise<unknown> {
    const process = anyProcess()
    return process && line.call({ process, room, method, args })
  }

  function newLog(profileId: string): OutboxItem[] {
    const here = people().get(profileId)
    const there = here && upstream.people.get(here.externalId)
    const one = there?.truth.get(loggedName(chance))
    if (!one || one.startMs > world.databaseNow()) return []
    const again = chance(4) === 0 ? handedIn.filter((item) => item.profileId === profileId)[chance(8)] : undefined
    if (again) return [chance(2) === 0 ? again : anotherForm(again)]
    items += 1
    const name = chance(15) === 0 ? BAD : one.name
    const id = `log-${items}`
    const span = { startAtMs: one.startMs, endAtMs: one.endMs }
    const item = { profileId, stream: LOGS, itemKey: id, body: bodyOf({ id, name, value: chance(VALUES) }), ...span }
    handedIn.push(item)
    return [item]
  }

  const anotherForm = (item: OutboxItem): OutboxItem => ({
    ...item,
    body: bodyOf({ ...JSON.parse(item.body), value: chance(VALUES) }),
  })

  const acts = {
    wait() {
      const ms = chance(5) < 3 ? (MOMENTS[chance(MOMENTS.length)] ?? 0) : UNIT * (1 + chance(6))
      world.passTime(ms)
      return `wait ${ms / SECOND} s`
    },
    revise() {
      for (let times = 1 + chance(3); times > 0; times -= 1) {
        const here = people().get(anyId())
        if (here) upstream.revise(here.externalId)
      }
      return 'revise'
    },
    /** The app hands in a few logs. */
    async handIn() {
      const profileId = anyId()
      const logs = Array.from({ length: 1 + chance(3) }, () => newLog(profileId)).flat()
      if (logs.length > 0) await callNow('outbox', 'add', [logs])
      return `hand in ${logs.map(({ itemKey }) => itemKey)}`
    },
    begin() {
      if (atWork.size >= WORKERS_MAX) return 'all are busy'
      const [order] = queue.jobs.splice(chance(Math.max(1, queue.jobs.length)), 1)
      if (order && chance(2) === 0) return world.carryOut(order)
      if (order) queue.add(order)
      const dice = chance(60)
      const [erasures, registrations] = about.erasure ? [12, 30] : [1, 4]
      if (dice < erasures) return world.begin('erase-profile', anyId())
      if (dice < registrations) return world.begin('register-profile', anyId())
      if (dice >= registrations + 12) return world.begin('sync-profile', anyId())
      return world.begin('backfill-profile', anyId(), anyRange())
    },
    die() {
      const [victim] = [...atWork.keys()].slice(chance(Math.max(1, atWork.size)))
      const dead = victim === undefined ? undefined : atWork.get(victim)
      if (victim === undefined || !dead || chance(4) > 0) return 'nobody dies'
      seeDeath(stage.pendingOf((worker) => worker === victim))
      stage.kill(victim)
      atWork.delete(victim)
      return `#${victim} dies`
    },
    async go() {
      const said: string[] = []
      for (let events = 1 + chance(6); events > 0; events -= 1) {
        world.grouped.is = false
        said.push(await stage.step(togetherWith))
        await world.compare()
      }
      return said.join(', ')
    },
  }

  const rareActs = {
    /** Two schedulers may tick for one slot. */
    tick() {
      const kind = chance(2) === 0 ? 'nightly' : 'sweep'
      const slotAt = new Date(Math.floor(world.databaseNow() / UNIT) * UNIT)
      saw('a run of everybody')
      return world.produceRun((runs) => runs.claimSlot(kind, slotAt), `tick of the ${kind}`)
    },
    order() {
      const range = anyRange()
      const [kind, params] = chance(2) === 0 ? ['sync', {}] : ['backfill', range]
      return world.produceRun((runs) => runs.create(String(kind), Object(params)), `order a ${kind}`)
    },
    recover() {
      const run = anyRun()
      if (!run) return 'nothing to recover'
      return world.produceRun((runs) => runs.get(run.id), `produce run ${run.id} again`)
    },
    wipeQueue() {
      queue.jobs.splice(0)
      return 'the queue is emptied'
    },
    async renewLease() {
      const production = world.taken.at(-1)
      if (production) await callNow('runs', 'renewProduction', [production])
      return 'renew lease'
    },
    async stopRun() {
      const run = anyRun()
      if (run && chance(3) === 0) await callNow('runs', 'end', [run.id, 'stopped'])
      return `stop run ${run?.id}`
    },
    /** An erasure that is through between two moments of the others. */
    async eraseAtOnce() {
      const id = anyId()
      const here = people().get(id)
      const isRead = stage.pendingOf((worker) => atWork.has(worker)).some((name) => /^(read|writer)/.test(name))
      // A registration under way would bring the profile back upstream: the job waits for it.
      if (!here || !isRead || here.registeringUntilMs !== null || chance(3) > 0) return 'nobody is erased at once'
      saw('an erasure while a reading is under way')
      upstream.remove(here.externalId)
      await callNow('profiles', 'erase', [id])
      return `erase ${id} at once`
    },
    async addAgain() {
      const found = await callNow('profiles', 'add', [['ada', 'bob'], { wantedFrom: new Date(BEGIN), state: 'new' }])
      if (Object(found).erased > 0) saw('an erased profile handed in again')
      return 'add profiles again'
    },
    setDatabaseClock() {
      if (!about.clocks) return 'the clocks stay'
      const before = clocks.databaseAheadMs
      clocks.databaseAheadMs = JUMPS[chance(JUMPS.length)] ?? 0
      const byMs = clocks.databaseAheadMs - before
      if (byMs !== 0) saw(byMs > 0 ? 'the clock of the database set forward' : 'the clock of the database set back')
      return `the database's clock is set by ${byMs / SECOND} s`
    },
    setProcessClock() {
      const process = anyProcess()
      if (!about.clocks || !process) return 'the clocks stay'
      process.aheadMs = (chance(7) - 3) * (SKEW / 3)
      saw('a process whose clock is set')
      return `a process's clock is ${process.aheadMs / SECOND} s ahead`
    },
    async backUp() {
      await line.backup()
      return 'back up'
    },
    restore: () => restore(),
  }

  /** Everybody is stopped, the backup comes back, and those erased since are erased again before anybody reads. */
  async function restore(): Promise<string> {
    if (chance(2) > 0) return 'no restore'
    const erased = ids.filter((id) => !people().has(id))
    await stage.close()
    atWork.clear()
    if (!(await line.restore())) return 'no backup to restore'
    saw('a backup restored')
    queue.jobs.splice(0)
    for (const id of erased) {
      if (!people().has(id)) continue
      saw('an erased profile restored and erased again')
      await callNow('profiles', 'erase', [id])
    }
    return 'restore the backup'
  }

  const anyRange = () => {
    const from = BEGIN - HISTORY + UNIT * chance(HISTORY / UNIT)
    const range = { from, to: from + UNIT * (1 + chance(20)) }
    return chance(2) === 0 ? { ...range, again: true } : range
  }

  const anyRun = () => {
    const running = [...line.model.data.runs.values()].filter(({ state }) => state === 'running')
    return running[chance(Math.max(1, running.length))]
  }

  function seeDeath(pending: readonly string[]): void {
    if (pending.some((one) => /^(push answered|outbox\.markSent)$/.test(one)))
      saw('a kill between the answer of a push and its mark')
    if (pending.some((one) => /^(read answered|writer\.store)$/.test(one)))
      saw('a kill between a reading and its commit')
    if (pending.includes('queue.enqueue')) saw('a producer that dies after it recorded a page')
  }

  /** Readings of one process may share a commit. */
  function togetherWith(name: string, worker: number): ((other: number) => boolean) | undefined {
    if (name !== 'writer.store' || chance(2) === 0) return undefined
    const process = atWork.get(worker)?.process
    const isAlike = (other: number) => atWork.get(other)?.process === process
    world.grouped.is = stage.pendingOf(isAlike).includes('writer.store')
    if (world.grouped.is) saw('a reading stored by a group of several')
    return isAlike
  }

  const weighed = [
    'wait',
    'revise',
    'handIn',
    'begin',
    'begin',
    'die',
    ...Array<'go'>(12).fill('go'),
    'rare',
    'rare',
  ] as const
  const rare = Object.values(rareActs)

  return {
    async step(): Promise<string> {
      const act = weighed[chance(weighed.length)] ?? 'wait'
      if (act !== 'rare') return acts[act]()
      const rareAct = rare[chance(rare.length)]
      return rareAct ? rareAct() : 'nothing'
    },
  }
}

const bodyOf = (log: { id: string; name: number; value: number }): string => JSON.stringify(log)
