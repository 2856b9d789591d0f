import { rmSync } from 'node:fs'
import { basename } from 'node:path'
import type { ProofResult } from '../part.ts'
import { tablesOf } from './figures.ts'
import type { Killers } from './listed-mutants.ts'
import type { Mutant } from './mutants.ts'
import { type Judged, type PlayOptions, playMutants } from './play.ts'
import { type Recording, recordedFiles } from './recording.ts'
import { sampleOf } from './sample.ts'
import { createStepsOf } from './steps.ts'

const AGAIN = 'npm run proof -- --only sql-mutants --tests FILE decides its mutants again, in minutes.'

/** A play of some mutants: those that the tests of chosen files send. */
export type PartialPlay = Omit<PlayOptions, 'mutants' | 'stepsOf'> & {
  record(files: readonly string[]): Promise<Recording>
  mutantsOf(recording: Recording): Promise<readonly Mutant[]>
}

/** Mutants that the whole run killed, each against the file that killed it: some files, chosen by the seed. */
export async function playSample(options: PartialPlay & { readonly seed: number }): Promise<ProofResult> {
  const { killers, seed, signal, print } = options
  const sample = sampleOf(killers, seed)
  const recording = await options.record(recordedFiles().filter((file) => sample[basename(file)]))
  const mutants = await options.mutantsOf(recording)
  const files = { ended: namesOf(recording.files), there: namesOf(recordedFiles()) }
  const stale = staleIds(sample, { killers, mutants, files })
  for (const { file, id } of stale) print(`killers.json names ${id} of ${file}: there is no such mutant any more`)
  const wanted = Object.values(sample).flat()
  const all = createStepsOf(recording.tests, killers)
  // Kills of an earlier run would hide a test that does not notice the mutant any more.
  const stateFile = `${options.stateFile}.short`
  rmSync(stateFile, { force: true })
  const judged = await playMutants({
    ...options,
    stateFile,
    mutants: mutants.filter(({ id }) => wanted.includes(id)),
    stepsOf: (mutant) => all(mutant).filter(({ file }) => sample[basename(file)]?.includes(mutant.id)),
  })
  const faults = faultsOf(judged, wanted.length)
  if (signal.aborted) print('The sample was cut by its time.')
  for (const fault of faults) print(fault)
  if (stale.length + faults.length > 0) print(`After a change of a file of tests or of its statements: ${AGAIN}`)
  return {
    holds: faults.length === 0 && stale.length === 0,
    tables: tablesOf(judged, new Map()),
    survivors: [],
    notChecked: [`A sample by the seed ${seed}: ${wanted.length} of the mutants that the whole run killed.`],
  }
}

const namesOf = (files: readonly string[]) => new Set(files.map((file) => basename(file)))

type Found = {
  readonly killers: Killers
  readonly mutants: ReadonlyArray<Pick<Mutant, 'id'>>
  /** The names of the files whose recording ended, and of all files of tests. */
  readonly files: { readonly ended: ReadonlySet<string>; readonly there: ReadonlySet<string> }
}

/** Ids, of the files of the sample, that no statement makes any more. Where the recording was cut, nothing is known of its file. */
export function staleIds(sample: Readonly<Record<string, readonly string[]>>, { killers, mutants, files }: Found) {
  const ids = new Set(mutants.map(({ id }) => id))
  return Object.keys(sample)
    .filter((file) => files.ended.has(file) || !files.there.has(file))
    .flatMap((file) => (killers[file]?.ids ?? []).filter((id) => !ids.has(id)).map((id) => ({ file, id })))
}

/** A sample that was mostly not played, by its time or by time-outs, is no proof. */
export function faultsOf(judged: readonly Judged[], wanted: number): string[] {
  const of = (verdict: Judged['verdict']) => judged.filter((one) => one.verdict === verdict)
  const living = [...of('survived'), ...of('not reached')]
  const killed = of('killed').length
  const faults = living.map(({ mutant, verdict }) => `killed before, and now ${verdict}: ${mutant.key}`)
  if (2 * killed > wanted) return faults
  return [...faults, `Of a sample of ${wanted} mutants ${killed} were killed: too few to say anything.`]
}
