import { basename } from 'node:path'
import type { Killers } from './listed-mutants.ts'
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
  readonly killers: Killers
  readonly stateFile: string
  readonly workFolder: string
  readonly processesAtOnce: number
  /** Ends the run: what is under way then counts as not played. */
  readonly signal: AbortSignal
  print(line: string): void
}

const PLAYS_PER_PROCESS = 40
/** More mutants at once would rarely survive a test together. */
const TOGETHER_MAX = 16
/** How many files of tests a mutant is played against alone. */
const ALONE_MAX = 4
/** Tests of one process together, by their duration as they are. */
const PROCESS_MS_MAX = 120_000
/** About as long as a process takes to start. */
const START_MS = 4000

/**
 * Plays each mutant against one file of tests after the other, until a test fails: alone against the files that killed others of its
 * statement. A mutant that survives those is played with mutants of other statements at once, in as many turns as one statement has
 * mutants; where a test fails, the mutants whose statements it sends are divided.
 */
export async function playMutants(options: PlayOptions): Promise<Judged[]> {
  const { mutants, workFolder, processesAtOnce, signal, print } = options
  const state = openPlayState(options.stateFile)
  const steps = new Map(mutants.map((mutant) => [mutant, options.stepsOf(mutant)]))
  const playsOf = (mutant: Mutant) => (steps.get(mutant) ?? []).map((step) => state.find(mutant, step))
  const underWay = new Set<string>()
  const kills = killsOfStatements(mutants, options.killers)
  const addKill = ({ mutant, step }: Pick<DuePlay, 'mutant' | 'step'>) => {
    if (state.find(mutant, step)?.outcome === 'killed') kills.add(mutant, step.file)
  }
  for (const [mutant, list] of steps) for (const step of list) addKill({ mutant, step })
  const dueOf = (mutant: Mutant): DuePlay[] => {
    const plays = playsOf(mutant)
    if (verdictOf(plays) === 'killed') return []
    const left = (steps.get(mutant) ?? []).filter((_, index) => plays[index] === undefined)
    const survived = plays.length - left.length
    const likely = survived < ALONE_MAX ? likeliest(left, kills.of(mutant)) : undefined
    const first = likely ?? (survived === 0 ? left[0] : undefined)
    return (first ? [first] : left).map((step) => {
      const due = { mutant, step, survived }
      return state.divided(due) ?? { ...due, togetherMax: first ? 1 : Math.min(TOGETHER_MAX, 2 ** survived) }
    })
  }

  const play = async (batch: Batch) => {
    underWay.add(batch.file)
    const result = await playBatch(batch.groups, workFolder)
    underWay.delete(batch.file)
    if (signal.aborted) return
    state.keepResult(batch.groups.flat(), result)
    batch.groups.flat().forEach(addKill)
    print(progressOf(mutants.map((mutant) => verdictOf(playsOf(mutant)))))
  }
  const running = new Set<Promise<void>>()
  for (;;) {
    const due = running.size < processesAtOnce && !signal.aborted ? mutants.flatMap(dueOf) : []
    const batch = batchOf(
      due.filter(({ step }) => !underWay.has(step.file)),
      state.wasTried,
    )
    if (batch) {
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

/** Groups of plays against one file, each group at once. */
type Batch = { readonly file: string; readonly groups: ReadonlyArray<readonly DuePlay[]> }

/** The file that kills the most in the least time comes first; a play that was tried before is tried alone. */
function batchOf(due: readonly DuePlay[], wasTried: (due: DuePlay) => boolean): Batch | undefined {
  const byFile = [...Map.groupBy(due, ({ step }) => step.file)].map(([file, plays]) => {
    const fresh = plays.filter((one) => !wasTried(one))
    const groups = fresh.length > 0 ? groupsOf(fresh) : plays.slice(0, 1).map((one) => [one])
    return { file, groups: affordable(groups) }
  })
  return byFile.toSorted((one, other) => msPerKill(one) - msPerKill(other))[0]
}

/** In a group each statement has one mutant. */
export function groupsOf(due: readonly DuePlay[]): DuePlay[][] {
  const groups: DuePlay[][] = []
  for (const one of due.toSorted((a, b) => a.togetherMax - b.togetherMax || a.survived - b.survived)) {
    const fits = (group: readonly DuePlay[]) =>
      group.length < Math.min(one.togetherMax, ...group.map(({ togetherMax }) => togetherMax)) &&
      !group.some(({ mutant }) => isSameStatement(mutant, one.mutant))
    const group = groups.find(fits)
    if (group) group.push(one)
    else groups.push([one])
  }
  return groups
}

const statementOf = ({ file, called }: Pick<Mutant, 'file' | 'called'>) => `${file} ${called}`
const isSameStatement = (one: Mutant, other: Mutant) => statementOf(one) === statementOf(other)

/** How many mutants of its statement a file of tests has killed, by the name of the file; infinitely many if it killed this very mutant. */
type Kills = ReadonlyMap<string, number>

function killsOfStatements(mutants: readonly Mutant[], killers: Killers) {
  const byStatement = new Map<string, Map<string, number>>()
  const ownKiller = new Map(Object.entries(killers).flatMap(([file, { ids }]) => ids.map((id) => [id, file] as const)))
  const add = (mutant: Mutant, file: string) => {
    const kills = byStatement.get(statementOf(mutant)) ?? new Map<string, number>()
    byStatement.set(statementOf(mutant), kills.set(basename(file), (kills.get(basename(file)) ?? 0) + 1))
  }
  for (const mutant of mutants) {
    const file = ownKiller.get(mutant.id)
    if (file) add(mutant, file)
  }
  return {
    add,
    of(mutant: Mutant): Kills {
      const kills = byStatement.get(statementOf(mutant)) ?? new Map<string, number>()
      const file = ownKiller.get(mutant.id)
      return file ? new Map([...kills, [file, Number.POSITIVE_INFINITY]]) : kills
    },
  }
}

/** The file with the most kills in its time, if any has killed one. */
function likeliest(steps: readonly Step[], kills: Kills): Step | undefined {
  const rate = ({ file, ms }: Step) => (kills.get(basename(file)) ?? 0) / (START_MS + ms)
  const [best] = steps.toSorted((one, other) => (rate(one) === rate(other) ? 0 : rate(other) - rate(one)))
  return best && rate(best) > 0 ? best : undefined
}

const msOf = (group: readonly DuePlay[]): number => Math.max(...group.map(({ step }) => step.ms))

function affordable(groups: readonly DuePlay[][]): DuePlay[][] {
  const msUpTo = (index: number) => groups.slice(0, index + 1).reduce((sum, group) => sum + msOf(group), 0)
  return groups.slice(0, PLAYS_PER_PROCESS).filter((_, index) => index === 0 || msUpTo(index) <= PROCESS_MS_MAX)
}

/** The more files of tests a mutant has survived, the less likely the next one kills it. */
const msPerKill = ({ groups }: Batch): number =>
  (START_MS + groups.reduce((sum, group) => sum + msOf(group), 0)) /
  groups.flat().reduce((sum, { survived }) => sum + 1 / (1 + survived), 0)

function verdictOf(plays: ReadonlyArray<Played | undefined>): Verdict {
  const has = (outcome: Outcome['outcome']) => plays.some((play) => play?.outcome === outcome)
  if (has('killed')) return 'killed'
  if (plays.includes(undefined)) return 'not played'
  if (has('timed out')) return 'timed out'
  return has('survived') ? 'survived' : 'not reached'
}

const progressOf = (verdicts: readonly Verdict[]): string =>
  [...Map.groupBy(verdicts, (verdict) => verdict)].map(([verdict, { length }]) => `${verdict} ${length}`).join(', ')
