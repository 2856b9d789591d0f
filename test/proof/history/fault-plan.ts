import { createHash } from 'node:crypto'
import { SECOND } from '../../../src/base/time/units.ts'

/**
 * Everything that a run does to the fleet, as a function of its seed. `at`: what a fault happens to; faults of one target
 * follow one another. A cut or silent connection is between that process and the named server.
 */
const faults = {
  'kill-process': { at: ['worker-1', 'worker-2', 'worker-3', 'scheduler-1', 'scheduler-2', 'service'], forMs: [0, 0] },
  'freeze-process': {
    at: ['worker-1', 'worker-2', 'worker-3', 'scheduler-1', 'scheduler-2', 'service'],
    forMs: [1 * SECOND, 7 * SECOND],
  },
  'cut-database': { at: ['worker-1', 'worker-2', 'worker-3', 'scheduler-1', 'scheduler-2', 'service'], forMs: [0, 0] },
  'cut-queue': { at: ['worker-1', 'worker-2', 'worker-3'], forMs: [0, 0] },
  'cut-upstream': { at: ['upstream'], forMs: [0, 0] },
  'silent-database': {
    at: ['worker-1', 'worker-2', 'worker-3', 'scheduler-1', 'service'],
    forMs: [2 * SECOND, 6 * SECOND],
  },
  'silent-queue': { at: ['worker-1', 'worker-2', 'worker-3'], forMs: [2 * SECOND, 6 * SECOND] },
  'silent-upstream': { at: ['upstream'], forMs: [2 * SECOND, 6 * SECOND] },
  'jump-clock': { at: ['worker-1', 'worker-2', 'worker-3'], forMs: [3 * SECOND, 9 * SECOND] },
  'stop-postgres': { at: ['postgres'], forMs: [0, 2 * SECOND] },
  'slow-disk': { at: ['postgres'], forMs: [2 * SECOND, 5 * SECOND] },
  'full-disk': { at: ['postgres'], forMs: [2 * SECOND, 5 * SECOND] },
  'empty-queue': { at: ['queue'], forMs: [0, 0] },
  'kill-redis': { at: ['queue'], forMs: [0, 2 * SECOND] },
  'bad-answers': { at: ['answers'], forMs: [4 * SECOND, 8 * SECOND] },
  'slow-answers': { at: ['answers'], forMs: [6 * SECOND, 10 * SECOND] },
  'overtaken-reading': { at: ['reading'], forMs: [0, 0] },
  'outdated-reading': { at: ['reading'], forMs: [0, 0] },
  'revoke-tokens': { at: ['tokens'], forMs: [0, 0] },
  'late-derivation': { at: ['derivation'], forMs: [3 * SECOND, 8 * SECOND] },
} as const satisfies Record<string, { at: readonly string[]; forMs: readonly [number, number] }>

export type FaultName = keyof typeof faults
export const faultNames = Object.keys(faults) as FaultName[] // the keys of a literal are its names

/** Acts of the app and its operators while faults happen. */
const acts = [
  'push',
  'push',
  'push',
  'push',
  'revise',
  'revise',
  'sync',
  'sync',
  'sync-some',
  'backfill',
  'nightly',
] as const
export type ActName = (typeof acts)[number] | 'erase' | 'revive' | 'revise-elsewhere' | 'add-profile'

export type PlannedFault = {
  readonly atMs: number
  readonly fault: FaultName
  readonly target: string
  readonly forMs: number
  /** A number of this fault's own, from 0 to 1. */
  readonly draw: number
}
export type PlannedAct = { readonly atMs: number; readonly act: ActName; readonly draw: number }
export type FaultPlan = { readonly faults: readonly PlannedFault[]; readonly acts: readonly PlannedAct[] }

type PlanOptions = { readonly seed: string; readonly lastsMs: number; readonly possible: readonly FaultName[] }

/** The average time between two faults, and between two acts. */
const FAULT_EVERY_MS = 1.5 * SECOND
const ACT_EVERY_MS = 0.5 * SECOND

/** Each possible fault at least once, in an order that the seed chooses, and then any of them again. */
export function planFaults({ seed, lastsMs, possible }: PlanOptions): FaultPlan {
  const draw = createDraw(seed)
  const pick = <T>(from: readonly T[]): T => from[Math.floor(draw() * from.length)] as T // draw() is below 1
  const count = Math.max(possible.length, Math.floor(lastsMs / FAULT_EVERY_MS))
  const order = shuffled(possible, draw)
  const plannedFaults = Array.from({ length: count }, (_, index): PlannedFault => {
    const fault = order[index] ?? pick(possible)
    const { at, forMs } = faults[fault]
    const lasts = forMs[0] + draw() * (forMs[1] - forMs[0])
    const atMs = (lastsMs * (index + draw())) / count
    // A scheduler may say nothing for a minute: the fault that has to fire happens to somebody who works.
    const target = pick<string>(index < order.length ? at.filter((name) => !name.startsWith('scheduler')) : at)
    return { atMs, fault, target, forMs: Math.round(lasts), draw: draw() }
  })
  const rounds = Math.floor(lastsMs / ACT_EVERY_MS)
  const often = Array.from({ length: rounds }, (): ActName => pick(acts))
  const rare: ActName[] = ['add-profile', 'erase', 'revise-elsewhere', 'add-profile', 'erase', 'revive', 'revive']
  const plannedActs = often.map((act, index) => ({ act, atMs: (lastsMs * (index + draw())) / rounds, draw: draw() }))
  const rareActs = rare.map((act, index) => ({ act, atMs: (lastsMs * (index + draw())) / rare.length, draw: draw() }))
  const byTime = (one: { atMs: number }, other: { atMs: number }) => one.atMs - other.atMs
  return { faults: plannedFaults.toSorted(byTime), acts: [...plannedActs, ...rareActs].toSorted(byTime) }
}

/** Numbers from 0 to below 1; the same texts give the same numbers. */
export function createDraw(seed: string): () => number {
  let turns = 0
  return () => createHash('sha256').update(`${seed}/${turns++}`).digest().readUInt32BE(0) / 2 ** 32
}

function shuffled<T>(items: readonly T[], draw: () => number): T[] {
  return items
    .map((item) => ({ item, at: draw() }))
    .sort((one, other) => one.at - other.at)
    .map(({ item }) => item)
}
