import { spawnSync } from 'node:child_process'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { HOUR, MINUTE, SECOND } from '../../../src/base/time/units.ts'
import type { ProofOptions, ProofPart, ProofResult, ProofTable } from '../part.ts'
import { type FaultName, faultNames } from './fault-plan.ts'
import type { HistoryEvent } from './history.ts'
import { eventsOf } from './rules.ts'
import { runSeed } from './run-seed.ts'
import type { QueueKind } from './stage.ts'

/** The faults and acts of a run follow from its seed. */
export const part: ProofPart = {
  name: 'history',
  checks:
    'Three workers, two schedulers, the Profile Service, Postgres and Redis run as processes under faults that a seed ' +
    'chooses; what was asked, answered, acknowledged and stored is recorded outside of them and checked afterwards.',
  promises: [1, 2, 3, 4, 5, 7, 8, 10, 12, 13, 16, 17],
  minutes: { short: 2, whole: 10 },
  run,
}

/** The time in which the faults of one seed happen: the same in every form, for the seed alone replays a run. */
const FAULTS_LAST_MS = 40 * SECOND

/** The figures of a finished run. */
type FinishedRun = {
  readonly seed: number
  readonly queue: QueueKind
  readonly tookMs: number
  readonly violations: readonly string[]
  readonly fired: Readonly<Record<string, number>>
  readonly leftOut: readonly FaultName[]
  readonly seen: Readonly<Record<string, number>>
}

async function run(options: ProofOptions): Promise<ProofResult> {
  const { short, seed, stateFolder, print } = options
  const forMs = (options.hours ?? part.minutes.whole / 60) * HOUR
  await mkdir(stateFolder, { recursive: true })
  const state = join(stateFolder, `runs-${seed}-${short ? 'short' : 'whole'}.json`)
  const runs: FinishedRun[] = await readFile(state, 'utf8').then(JSON.parse, () => [])
  const isOver = () => (short ? runs.length > 0 : sumOf(runs, ({ tookMs }) => tookMs) >= forMs)
  while (!isOver()) {
    const finished = await runOnce(seed + runs.length, options)
    runs.push(finished)
    await writeFile(state, JSON.stringify(runs))
    const { violations } = finished
    print(`seed ${finished.seed}, queue on ${finished.queue}: ${violations.length} violations`)
    for (const text of violations) print(`  ${text}`)
    if (violations.length > 0) print(`  ${replayText(options, finished)}`)
  }
  await rm(state)
  return {
    holds: runs.every(({ violations }) => violations.length === 0),
    tables: [tableOfRuns(runs), tableOfFaults(runs), tableOfEvents(runs)],
    survivors: [],
    notChecked: [...notChecked, ...leftOutTexts(runs)],
  }
}

/** The short form is the run of its seed. */
const replayText = (options: ProofOptions, { seed }: FinishedRun): string =>
  `again: npm run proof -- --short --only history --seed ${seed}. Its history: ${folderOf(options, seed)}`

const folderOf = ({ stateFolder }: Pick<ProofOptions, 'stateFolder'>, seed: number) => join(stateFolder, `seed-${seed}`)

/** Only a run with violations leaves its history. */
async function runOnce(seed: number, options: ProofOptions): Promise<FinishedRun> {
  const hasRedis = spawnSync('redis-server', ['--version']).status === 0
  const queue = hasRedis && seed % 2 === 0 ? 'redis' : 'postgres'
  const folder = folderOf(options, seed)
  await rm(folder, { recursive: true, force: true })
  const begunMs = performance.now()
  const { violations, events, leftOut } = await runSeed({ seed: String(seed), queue, folder, lastsMs: FAULTS_LAST_MS })
  if (violations.length === 0) await rm(folder, { recursive: true })
  const fired = eventsOf(events, 'fault').filter((fault) => fault.fired)
  return {
    seed,
    queue,
    tookMs: Math.round(performance.now() - begunMs),
    violations: violations.map(({ rule, text }) => `${rule}: ${text}`),
    fired: countBy(fired, ({ fault }) => fault),
    leftOut: hasRedis ? leftOut.filter((fault) => fault !== 'kill-redis') : leftOut,
    seen: countBy(events, ({ kind }) => kind),
  }
}

function countBy<T>(items: readonly T[], nameOf: (item: T) => string): Record<string, number> {
  const groups = Map.groupBy(items, nameOf)
  return Object.fromEntries([...groups].map(([name, its]) => [name, its.length]))
}

const sumOf = <T>(items: readonly T[], count: (item: T) => number): number =>
  items.reduce((sum, item) => sum + count(item), 0)

function tableOfRuns(runs: readonly FinishedRun[]): ProofTable {
  const rows = [...Map.groupBy(runs, ({ queue }) => queue)].map(([queue, its]) => {
    const seeds = its.map(({ seed }) => seed).join(', ')
    const minutes = Math.round(sumOf(its, ({ tookMs }) => tookMs) / MINUTE)
    return [queue, its.length, seeds, minutes, sumOf(its, ({ violations }) => violations.length)]
  })
  return { title: 'Runs under faults', columns: ['queue', 'runs', 'seeds', 'minutes', 'violations'], rows }
}

function tableOfFaults(runs: readonly FinishedRun[]): ProofTable {
  const rows = faultNames.map((fault) => [fault, sumOf(runs, ({ fired }) => fired[fault] ?? 0)])
  return { title: 'Faults that were seen to take effect', columns: ['fault', 'times'], rows }
}

const eventTexts: Partial<Record<HistoryEvent['kind'], string>> = {
  handed: 'forms of items handed to the outbox',
  push: 'uploads answered or broken off',
  reading: 'windows answered',
  snapshot: 'streams of a person compared while faults happened',
  token: 'tokens asked for',
  erasure: 'erasures',
  revival: 'attempts to add an erased person again',
}

function tableOfEvents(runs: readonly FinishedRun[]): ProofTable {
  const rows = Object.entries(eventTexts).map(([kind, text]) => [text, sumOf(runs, ({ seen }) => seen[kind] ?? 0)])
  return { title: 'What the checker was shown', columns: ['event', 'times'], rows }
}

const notChecked = [
  'Demographics and device information while faults happen: they have no window, and are compared at the end alone.',
  'Pushed tags and snapshots: only data logs are pushed.',
  'Forms of one item without modifiedDateTime: upstream then keeps the form that arrives last.',
  'One of the guards alone that keep an older reading from replacing a newer one: the other two hide its loss.',
  'Several hosts: all processes share one machine and one network stack.',
  'A database of the Profile Service that is silent for longer than its fault lasts: the connections are lost then.',
  'A slow disk is imitated by stopping the processes of Postgres for a quarter of a second again and again.',
]

const leftOutTexts = (runs: readonly FinishedRun[]): string[] =>
  [...new Set(runs.flatMap(({ leftOut }) => leftOut))].map(
    (fault) => `The fault ${fault}: this machine lacks what it needs (root for a small disk, faketime, redis-server).`,
  )
