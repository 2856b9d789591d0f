import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { openCloseStack } from '../../../src/base/close-stack.ts'
import { MINUTE } from '../../../src/base/time/units.ts'
import { actAsPlanned } from './app.ts'
import { check } from './check.ts'
import { type FaultName, faultNames, planFaults } from './fault-plan.ts'
import { readFinalState } from './final-state.ts'
import { finalStateFile, type HistoryEvent } from './history.ts'
import { injectFaults, injectUnfired } from './inject.ts'
import { comeToRest } from './rest.ts'
import type { Violation } from './rules.ts'
import { takeSnapshots } from './snapshots.ts'
import { openStage, type QueueKind } from './stage.ts'

export type SeedRun = {
  readonly violations: readonly Violation[]
  readonly events: readonly HistoryEvent[]
  /** Faults that this machine cannot inject. */
  readonly leftOut: readonly FaultName[]
}

type SeedOptions = {
  readonly seed: string
  readonly queue: QueueKind
  /** The folder of the history, the final state and the logs of all processes. */
  readonly folder: string
  /** How long faults happen. */
  readonly lastsMs: number
}

/** Stopped, a run ends its processes and unmounts its disk. */
const stopSignals = ['SIGINT', 'SIGTERM'] as const
const EXIT_STOPPED = 130

/** Starts everything, injects the faults of the seed, waits for the fleet to rest, and checks what happened. */
export async function runSeed(options: SeedOptions): Promise<SeedRun> {
  const { seed, queue, folder, lastsMs } = options
  await mkdir(folder, { recursive: true })
  await chmod(folder, 0o755)
  const closeStack = openCloseStack(MINUTE)
  const stop = () => void closeStack.close().finally(() => process.exit(EXIT_STOPPED))
  for (const signal of stopSignals) process.once(signal, stop)
  try {
    const stage = await openStage(options, closeStack)
    const { damage, app, people, databaseUrl } = stage
    const { history } = damage
    const possible = faultNames.filter(stage.isPossible)
    const plan = planFaults({ seed: `${seed}/${queue}`, lastsMs, possible })
    history.add({ kind: 'plan', seed, faults: possible })
    const ending = new AbortController()
    const snapshots = takeSnapshots({ databaseUrl, people, history, signal: ending.signal })
    const injecting = injectFaults(plan.faults, damage).finally(() => ending.abort())
    await Promise.all([injecting, actAsPlanned(app, people, { acts: plan.acts, signal: ending.signal })])
    await Promise.all([snapshots, ...people.pushing])
    await injectUnfired(plan.faults, damage)
    await Promise.all(people.pushing)
    await comeToRest(stage)
    const final = await readFinalState(stage)
    await writeFile(finalStateFile(folder), JSON.stringify(final))
    const { events } = history
    const leftOut = faultNames.filter((fault) => !possible.includes(fault))
    return { violations: check({ events, final }), events, leftOut }
  } finally {
    for (const signal of stopSignals) process.off(signal, stop)
    await closeStack.close()
  }
}
