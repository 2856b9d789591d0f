import { addLine, readLines } from './json-lines.ts'
import type { Mutant } from './mutants.ts'
import type { Outcome } from './plan.ts'
import type { BatchResult, DuePlay } from './play-batch.ts'
import { digestOfPlay } from './recording.ts'
import type { Step } from './steps.ts'

/** An outcome as the state keeps it: of these exchanges, against this version of the file. */
export type Played = Outcome & { readonly file: string; readonly digest: string }

/** A play that a process did not come to is tried again. */
const ATTEMPTS_MAX = 3

/** The plays of this run and of those before it. */
export function openPlayState(stateFile: string) {
  const digestOf = digestOfPlay()
  const played = new Map(readLines<Played>(stateFile).map((one) => [keyOf(one), one]))
  const attempts = new Map<string, number>()
  const divided = new Map<string, DuePlay>()

  const keep = ({ mutant, step }: DuePlay, outcome: Outcome) => {
    const line: Played = { ...outcome, file: step.file, digest: digestOf(mutant, step.file) }
    addLine(stateFile, line)
    played.set(keyOf(line), line)
  }
  const attemptOf = ({ mutant, step }: Pick<DuePlay, 'mutant' | 'step'>) => `${mutant.id} ${step.file}`

  return {
    find: (mutant: Mutant, { file }: Step): Played | undefined =>
      played.get(keyOf({ id: mutant.id, file, digest: digestOf(mutant, file) })),

    wasTried: (due: DuePlay): boolean => attempts.has(attemptOf(due)),

    /** A play that failed with others before is smaller, with the tests that it may fail. */
    divided: (due: Omit<DuePlay, 'togetherMax'>): DuePlay | undefined => divided.get(attemptOf(due)),

    /** A failure counts only if the test passes after it, as it is. After a time-out the rest of the batch is due again. */
    keepResult(batch: readonly DuePlay[], { outcomes, divided: smaller, hasTimedOut, trusted }: BatchResult): void {
      for (const due of smaller) divided.set(attemptOf(due), due)
      for (const due of batch) {
        const outcome = outcomes.get(due.mutant.id)
        if (!outcome && (hasTimedOut || smaller.some(({ mutant }) => mutant === due.mutant))) continue
        const tries = (attempts.get(attemptOf(due)) ?? 0) + 1
        attempts.set(attemptOf(due), tries)
        if (outcome && (trusted || outcome.outcome !== 'killed')) keep(due, outcome)
        else if (tries >= ATTEMPTS_MAX) keep(due, { id: due.mutant.id, outcome: 'not run' })
      }
    },
  }
}

const keyOf = ({ id, file, digest }: Pick<Played, 'id' | 'file' | 'digest'>) => `${id} ${file} ${digest}`
