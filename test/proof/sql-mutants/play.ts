import type { Mutant } from './mutants.ts'
import type { Outcome } from './plan.ts'
import { type DuePlay, playBatch } from './play-batch.ts'
import { openPlayState, type Played } from './play-state.ts'
import type { Step } from './steps.ts'

/** Not played: no test killed the mutant, and the run ended before some that send its statement. */
type Verdict = 'killed' | 'survived' | 'timed out' | 'not reached' | 'not played'
export type Judged = { readonly mutant: Mutant; readonly verdict: Verdict; readonly by: Played | undefined }

export type PlayOptions = {
  readonly mutants: readonly Mutant[]
  readonly stepsOf: (mutant: Mutant) => readonly Step[]
  readonly stateFile: string
  readonly workFolder: string
  readonly processesAtOnce: number
  /** Ends the run: what is under way then counts as not played. */
  readonly signal: AbortSignal
  print(line: string): void
}

const PLAYS_PER_PROCESS = 40
/** Tests of one process together, by their duration as they are. */
const PROCESS_MS_MAX = 120_000
/** About as long as a process takes to start. */
const START_MS = 4000

/** Plays each mutant against one file of tests after the other, until a test fails. */
export async function playMutants(options: PlayOptions): Promise<Judged[]> {
  const { mutants, workFolder, processesAtOnce, signal, print } = options
  const state = openPlayState(options.stateFile)
  const steps = new Map(mutants.map((mutant) => [mutant, options.stepsOf(mutant)]))
  const playsOf = (mutant: Mutant) => (steps.get(mutant) ?? []).map((step) => state.find(mutant, step))
  const underWay = new Set<Mutant>()
  const dueOf = (mutant: Mutant): DuePlay[] => {
    if (underWay.has(mutant) || verdictOf(playsOf(mutant)) === 'killed') return []
    const own = steps.get(mutant) ?? []
    const next = own.findIndex((step) => state.find(mutant, step) === undefined)
    const step = own[next]
    return step ? [{ mutant, step, survived: next }] : []
  }

  const play = async (batch: readonly DuePlay[]) => {
    for (const { mutant } of batch) underWay.add(mutant)
    const result = await playBatch(batch, workFolder)
    for (const { mutant } of batch) underWay.delete(mutant)
    if (signal.aborted) return
    state.keepResult(batch, result)
    print(progressOf(mutants.map((mutant) => verdictOf(playsOf(mutant)))))
  }
  const running = new Set<Promise<void>>()
  for (;;) {
    const batch =
      running.size < processesAtOnce && !signal.aborted ? batchOf(mutants.flatMap(dueOf), state.wasTried) : []
    if (batch.length > 0) {
      const played: Promise<void> = play(batch).finally(() => running.delete(played))
      running.add(played)
    } else if (running.size > 0) await Promise.race(running)
    else break
  }
  return mutants.map((mutant) => {
    const plays = playsOf(mutant)
    return { mutant, verdict: verdictOf(plays), by: plays.find((one) => one?.outcome === 'killed') }
  })
}

/** The file that kills the most in the least time comes first; a play that was tried before is tried alone. */
function batchOf(due: readonly DuePlay[], wasTried: (due: DuePlay) => boolean): DuePlay[] {
  const groups = [...Map.groupBy(due, ({ step }) => step.file).values()]
  const [quickest = []] = groups.toSorted((one, other) => msPerKill(one) - msPerKill(other))
  const fresh = quickest.filter((one) => !wasTried(one)).toSorted((one, other) => one.survived - other.survived)
  if (fresh.length === 0) return quickest.slice(0, 1)
  const msUpTo = (index: number) => fresh.slice(0, index + 1).reduce((sum, { step }) => sum + step.ms, 0)
  return fresh.slice(0, PLAYS_PER_PROCESS).filter((_, index) => index === 0 || msUpTo(index) <= PROCESS_MS_MAX)
}

/** The more files of tests a mutant has survived, the less likely the next one kills it. */
const msPerKill = (group: readonly DuePlay[]): number =>
  (START_MS + group.reduce((sum, { step }) => sum + step.ms, 0)) /
  group.reduce((sum, { survived }) => sum + 1 / (1 + survived), 0)

function verdictOf(plays: ReadonlyArray<Played | undefined>): Verdict {
  const has = (outcome: Outcome['outcome']) => plays.some((play) => play?.outcome === outcome)
  if (has('killed')) return 'killed'
  if (plays.includes(undefined)) return 'not played'
  if (has('timed out')) return 'timed out'
  return has('survived') ? 'survived' : 'not reached'
}

const progressOf = (verdicts: readonly Verdict[]): string =>
  [...Map.groupBy(verdicts, (verdict) => verdict)].map(([verdict, { length }]) => `${verdict} ${length}`).join(', ')
