import { rmSync } from 'node:fs'
import { basename } from 'node:path'
import type { ProofResult } from '../part.ts'
import { type Killers, killersAfter, knownSurvivors, writeKillers } from './listed-mutants.ts'
import { type Judged, playMutants } from './play.ts'
import type { PartialPlay } from './play-sample.ts'
import { recordedFiles } from './recording.ts'
import { createStepsOf } from './steps.ts'

/**
 * Decides again which mutants these files of tests kill, after a change of them or of the statements that they send. A mutant that another
 * file kills is not played, and neither is one whose survival is explained.
 */
export async function playFiles(options: PartialPlay & { readonly files: readonly string[] }): Promise<ProofResult> {
  const { files, killers, signal, print } = options
  const unknown = files.filter((file) => !recordedFiles().includes(file))
  if (unknown.length > 0) {
    print(`${unknown.join(', ')}: no file of tests whose statements are recorded`)
    return resultOf(false)
  }
  const recording = await options.record(files)
  const mutants = await options.mutantsOf(recording)
  const { own, others } = ownAndOthers(killers, files)
  const elsewhere = new Set(Object.values(others).flatMap(({ ids }) => ids))
  const explained = knownSurvivors()
  const stateFile = `${options.stateFile}.files`
  rmSync(stateFile, { force: true })
  const judged = await playMutants({
    ...options,
    stateFile,
    mutants: mutants.filter(({ id, key }) => !elsewhere.has(id) && !explained.has(key)),
    stepsOf: createStepsOf(recording.tests, killers),
  })
  const faults = signal.aborted || !recording.isWhole ? ['The run ended too soon: nothing is written.'] : []
  if (faults.length === 0) writeKillers({ ...others, ...killersAfter(own, judged, recording.tests) })
  const changes = changesOf(own, judged)
  for (const line of [...faults, ...changes.gone, ...changes.alive]) print(line)
  return resultOf(faults.length === 0 && changes.alive.length === 0)
}

const resultOf = (holds: boolean): ProofResult => ({ holds, tables: [], survivors: [], notChecked: [] })

function ownAndOthers(killers: Killers, files: readonly string[]): { own: Killers; others: Killers } {
  const names = new Set(files.map((file) => basename(file)))
  const pick = (isOwn: boolean) =>
    Object.fromEntries(Object.entries(killers).filter(([name]) => names.has(name) === isOwn))
  return { own: pick(true), others: pick(false) }
}

/** Kills of these files that are theirs no more: the statement makes no such mutant, or the mutant lives now. */
export function changesOf(own: Killers, judged: readonly Judged[]): { gone: string[]; alive: string[] } {
  const ids = Object.values(own).flatMap((kills) => kills.ids)
  const byId = new Map(judged.map((one) => [one.mutant.id, one]))
  const found = ids.map((id) => ({ id, now: byId.get(id) }))
  return {
    gone: found.flatMap(({ id, now }) => (now ? [] : [`no statement of these files makes ${id} any more`])),
    alive: found.flatMap(({ now }) =>
      now && now.verdict !== 'killed' ? [`killed before, and now ${now.verdict}: ${now.mutant.key}`] : [],
    ),
  }
}
