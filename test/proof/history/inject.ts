import { setTimeout as wait } from 'node:timers/promises'
import { HOUR, SECOND } from '../../../src/base/time/units.ts'
import type { SilentProxy } from '../../support/silent-proxy.ts'
import type { DamagedPostgres, startDamagedRedis } from './engines.ts'
import type { FaultName, PlannedFault } from './fault-plan.ts'
import type { Edge, Fleet, Member } from './fleet.ts'
import type { History } from './history.ts'
import { eventsOf } from './rules.ts'
import { until } from './until.ts'

/** The parts of the stage that faults damage. `control` asks the sandbox's control routes. */
export type Damage = {
  readonly fleet: Fleet
  readonly service: Member
  /** Between the pipeline and the service. */
  readonly upstream: SilentProxy
  readonly postgres: DamagedPostgres
  readonly redis: Awaited<ReturnType<typeof startDamagedRedis>>
  readonly history: History
  control(method: string, path: string, body?: object): Promise<Record<string, unknown>>
  /** Hands items in, one right after the other, until the fault is over. */
  pushWhile(fault: () => Promise<boolean>): Promise<boolean>
  /** Enqueues a job for each person, so that connections carry something. */
  giveWork(): Promise<void>
  /** Lets a later reading of a window overtake an earlier one. Whether it did. */
  overtakeReading(draw: number): Promise<boolean>
  /** Lets a push be marked as sent while a reading is on its way. Whether the reading was stored afterwards. */
  outdateReading(draw: number): Promise<boolean>
  /** Makes jobs, and empties the queue while there are some. Returns how many there were. */
  emptyQueue(): Promise<number>
}

/** Each returns whether the fault was seen to take effect. */
type Inject = (planned: PlannedFault, damage: Damage) => Promise<boolean>

/** Injects the faults at their times. Faults of one target follow one another; others happen at the same time. */
export async function injectFaults(planned: readonly PlannedFault[], damage: Damage): Promise<void> {
  const lines = new Map<string, Promise<void>>()
  const beganMs = performance.now()
  for (const fault of planned) {
    await wait(Math.max(0, beganMs + fault.atMs - performance.now()))
    const before = lines.get(fault.target) ?? Promise.resolve()
    lines.set(
      fault.target,
      before.then(() => injectOne(fault, damage)),
    )
  }
  await Promise.all(lines.values())
}

/** A fault may have met nothing but the damage of others. When they and the acts are over each kind that is left has its turn. */
export async function injectUnfired(planned: readonly PlannedFault[], damage: Damage): Promise<void> {
  for (const fault of unfiredOf(planned, damage)) {
    await damage.giveWork().catch(() => undefined)
    await injectOne(fault, damage, CALM_TRIES_MAX)
  }
}

/** One fault of each kind that has not fired. */
function unfiredOf(planned: readonly PlannedFault[], { history }: Damage): PlannedFault[] {
  const fired = new Set(eventsOf(history.events, 'fault').flatMap((seen) => (seen.fired ? [seen.fault] : [])))
  const firsts = new Map(planned.toReversed().map((one) => [one.fault, one]))
  return [...firsts.values()].filter(({ fault }) => !fired.has(fault))
}

const TRIES_MAX = 5
const CALM_TRIES_MAX = 15
const TRY_AGAIN_MS = SECOND

async function injectOne(planned: PlannedFault, damage: Damage, triesMax = TRIES_MAX): Promise<void> {
  const atMs = Date.now()
  let fired = false
  // A part that another fault has taken away cannot be damaged at this moment.
  for (let tries = 1; tries <= triesMax && !fired; tries += 1) {
    if (tries > 1) await wait(TRY_AGAIN_MS)
    fired = await injections[planned.fault](planned, damage).catch(() => false)
  }
  const { fault, target } = planned
  damage.history.add({ kind: 'fault', fault, target, atMs, endedAtMs: Date.now(), fired })
}

function memberOf({ fleet, service }: Damage, name: string): Member {
  const found = [...fleet.members, service].find(({ process }) => process.name === name)
  if (!found) throw new Error(`inject fault: there is no ${name}`)
  return found
}

function cut(edge: Edge): Inject {
  return async ({ target }, damage) => (memberOf(damage, target).edges[edge]?.dropAll() ?? 0) > 0
}

function silence(edge: Edge): Inject {
  return async (planned, damage) => {
    const { edges, process } = memberOf(damage, planned.target)
    const proxy = edges[edge]
    const isSeen = proxy !== undefined && (await silenceFor(planned, proxy))
    // A derivation would wait two minutes for its silent connection, and with it whatever needs a finished answer.
    if (process === damage.service.process) proxy?.dropAll()
    return isSeen
  }
}

/** Silent for the time of the fault, and until it has swallowed something; later connections work again. */
async function silenceFor({ forMs, draw }: PlannedFault, proxy: SilentProxy): Promise<boolean> {
  const before = proxy.swallowedBytes()
  const directions = draw < 0.4 ? (['to-server'] as const) : draw < 0.7 ? (['to-client'] as const) : BOTH
  proxy.silence(...directions)
  await wait(forMs)
  const isSeen = await until(() => proxy.swallowedBytes() > before, SWALLOWS_WITHIN_MS)
  proxy.restore()
  return isSeen
}

const SWALLOWS_WITHIN_MS = 3 * SECOND
const BOTH = ['to-server', 'to-client'] as const

/** Below and beyond what a process tolerates, and far beyond it. */
const JUMPS_MS = [8 * SECOND, -8 * SECOND, 25 * SECOND, -25 * SECOND, 2 * HOUR, -2 * HOUR]

async function jumpClock({ target, forMs, draw }: PlannedFault, damage: Damage): Promise<boolean> {
  const { clock, process, logFile } = memberOf(damage, target)
  const ms = JUMPS_MS[Math.floor(draw * JUMPS_MS.length)] ?? 0
  return (await clock?.jump({ ms, forMs }, process, logFile)) ?? false
}

/** Faults of the answers, as `docs/how-to/sandbox.md` explains them. */
const badAnswers = [
  { name: 'latency', rate: 0.3, settings: { delayMs: 400 } },
  { name: 'slow-body', rate: 0.1, settings: { pieces: 4, delayMs: 800 } },
  { name: 'reset', rate: 0.05 },
  { name: 'lost-answer', rate: 0.1 },
  { name: 'cut-body', rate: 0.05 },
  { name: 'malformed-body', rate: 0.05 },
  { name: 'error-500', rate: 0.05 },
  { name: 'error-502', rate: 0.05 },
  { name: 'expired-token', rate: 0.05 },
  { name: 'duplicates', rate: 0.2 },
  { name: 'exclusive-end', rate: 0.2 },
  { name: 'throttle', rate: 0.02, settings: { retryAfterSeconds: 1 } },
]

/** A made answer arrives seconds later: answers to later requests overtake it. */
const slowAnswers = [{ name: 'slow-body', rate: 0.4, settings: { pieces: 4, delayMs: 700 } }]

function giveAnswers(rules: readonly object[]): Inject {
  return async ({ forMs }, { control }) => {
    await control('PUT', '/faults', rules)
    await wait(forMs)
    const met = Object.values(await control('GET', '/faults'))
    await control('PUT', '/faults', [])
    return met.some((rule) => Number(Object(rule).met) > 0)
  }
}

const injections: Record<FaultName, Inject> = {
  'kill-process': ({ target }, damage) => memberOf(damage, target).process.kill(),
  'freeze-process': ({ target, forMs }, damage) => memberOf(damage, target).process.freeze(forMs),
  'cut-database': cut('database'),
  'cut-queue': cut('queue'),
  'cut-upstream': async (_, { upstream }) => upstream.dropAll() > 0,
  'silent-database': silence('database'),
  'silent-queue': silence('queue'),
  'silent-upstream': (planned, { upstream }) => silenceFor(planned, upstream),
  'jump-clock': jumpClock,
  'stop-postgres': ({ forMs }, { postgres, pushWhile }) => pushWhile(() => postgres.stopAtOnce(forMs)),
  'slow-disk': ({ forMs }, { postgres }) => postgres.slowDown(forMs),
  'full-disk': ({ forMs }, { postgres, pushWhile }) => pushWhile(() => postgres.fillDisk(forMs)),
  'empty-queue': async (_, { emptyQueue }) => (await emptyQueue()) > 0,
  'kill-redis': async ({ forMs }, { redis }) => (await redis?.dieAndComeBack(forMs)) ?? false,
  'bad-answers': giveAnswers(badAnswers),
  'slow-answers': giveAnswers(slowAnswers),
  'overtaken-reading': ({ draw }, { overtakeReading }) => overtakeReading(draw),
  'outdated-reading': ({ draw }, { outdateReading }) => outdateReading(draw),
  'revoke-tokens': async ({ draw }, { control }) => {
    const { revoked } = await control('POST', '/tokens/revoke', draw < 0.5 ? {} : undefined)
    return Number(revoked) > 0
  },
  async 'late-derivation'({ forMs }, { control }) {
    await control('PUT', '/derivation', { delayMs: 2 * SECOND })
    await wait(forMs)
    await control('DELETE', '/derivation')
    return true
  },
}
