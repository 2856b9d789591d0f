import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { loadModule } from 'pgsql-parser'
import { MINUTE } from '../../../src/time/units.ts'
import type { ProofOptions, ProofPart, ProofResult } from '../part.ts'
import { explained, tablesOf, unexplained } from './figures.ts'
import { type Killers, knownSurvivors, readKillers, writeKillers } from './listed-mutants.ts'
import { type Mutant, mutantsOf } from './mutants.ts'
import { type Judged, playMutants } from './play.ts'
import { type Recording, recordedFiles, recordStatements } from './recording.ts'
import { root } from './run-tests.ts'
import { sampleOf } from './sample.ts'
import { withServer } from './server.ts'
import { statementsOf } from './statements.ts'
import { createStepsOf } from './steps.ts'
import { validMutants } from './valid-mutants.ts'

const SHORT_MINUTES = 2.5

export const part: ProofPart = {
  name: 'sql-mutants',
  checks:
    'Statements of coverage, readings, outbox, runs, tokens, erasure and the service are changed on the tree of Postgres’s own grammar, one change at a time, and the tests that send them run against each.',
  promises: [1, 2, 3, 5, 6, 7, 8, 9, 10, 12, 13],
  minutes: { short: 3, whole: 60 },
  run: (options) => withServer(async (serverUrl) => (options.short ? runSample : runWhole)(options, serverUrl)),
}

async function runWhole({ stateFolder, print }: ProofOptions, serverUrl: string): Promise<ProofResult> {
  const recording = await recordStatements(recordedFiles(), stateFolder)
  const { mutants, refused, unprinted } = await mutantsIn(recording, serverUrl)
  print(`${mutants.length} mutants; ${refused} more are refused by Postgres`)
  const stepsOf = createStepsOf(recording.tests, root)
  const judged = await playMutants({
    mutants,
    stepsOf,
    ...placesIn(stateFolder),
    endAtMs: Number.POSITIVE_INFINITY,
    print,
  })
  writeKillers(
    judged.flatMap(({ mutant, by }) => (by ? [{ file: by.file.slice(root.length + 1), id: mutant.id }] : [])),
  )
  return resultOf(judged, {
    print,
    notChecked: [
      `${refused} mutants that Postgres refuses to plan, and ${unprinted.length} statements that the printer does not give back unchanged.`,
      'Functions and views of the migrations, COPY, and statements that only processes of their own send: those of commands, and of tests that kill processes.',
      'Of the tests that send a statement: those beyond two minutes of its own subject and half a minute of the others, the slowest.',
    ],
  })
}

/** Mutants that the last whole run killed, each against the file that killed it: some files, chosen by the seed. */
async function runSample({ stateFolder, seed, print }: ProofOptions, serverUrl: string): Promise<ProofResult> {
  const endAtMs = Date.now() + SHORT_MINUTES * MINUTE
  const killers = sampleOf(readKillers(), seed)
  const recording = await recordStatements(Object.keys(killers), stateFolder)
  const { mutants } = await mutantsIn(recording, serverUrl)
  const listed = mutants.filter(({ id }) => Object.values(killers).some((ids) => ids.includes(id)))
  const all = createStepsOf(recording.tests, root)
  const stepsOf = (mutant: Mutant) => all(mutant).filter(({ file }) => killersOf(killers, file).includes(mutant.id))
  const judged = await playMutants({ mutants: listed, stepsOf, ...placesIn(stateFolder), endAtMs, print })
  const played = judged.filter(({ verdict }) => verdict !== 'not reached')
  const notChecked = [`A sample by the seed ${seed}: ${played.length} of the mutants that the whole run killed.`]
  return resultOf(played, { print, notChecked })
}

const killersOf = (killers: Killers, file: string): readonly string[] => killers[file.slice(root.length + 1)] ?? []

function placesIn(stateFolder: string) {
  const workFolder = join(stateFolder, 'work')
  mkdirSync(workFolder, { recursive: true })
  return { stateFile: join(stateFolder, 'plays.ndjson'), workFolder, processesAtOnce: 2 }
}

async function mutantsIn({ statements: recorded }: Recording, serverUrl: string) {
  await loadModule()
  const { statements, unprinted } = statementsOf(recorded)
  const all = mutantsOf(statements)
  const mutants = await validMutants(all, serverUrl)
  return { mutants, refused: all.length - mutants.length, unprinted }
}

type Reported = Pick<ProofOptions, 'print'> & Pick<ProofResult, 'notChecked'>

function resultOf(judged: readonly Judged[], { print, notChecked }: Reported): ProofResult {
  const known = knownSurvivors()
  const living = unexplained(judged, known)
  for (const { mutant, verdict } of living) print(`not explained in survivors.json (${verdict}): ${mutant.key}`)
  return {
    holds: living.length === 0 && judged.length > 0,
    tables: tablesOf(judged, known),
    survivors: explained(judged, known),
    notChecked,
  }
}
