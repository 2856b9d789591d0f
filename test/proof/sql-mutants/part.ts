import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { loadModule } from 'pgsql-parser'
import { HOUR, MINUTE } from '../../../src/base/time/units.ts'
import type { ProofOptions, ProofPart, ProofResult } from '../part.ts'
import { explained, tablesOf, unexplained } from './figures.ts'
import { killersAfter, knownSurvivors, readKillers, writeKillers } from './listed-mutants.ts'
import { mutantsOf } from './mutants.ts'
import { playMutants } from './play.ts'
import { playSample } from './play-sample.ts'
import { type Recording, recordedFiles, recordStatements } from './recording.ts'
import { endTests } from './run-tests.ts'
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
  minutes: { short: 3, whole: 90 },
  run: (options) =>
    withServer((serverUrl) => {
      const ms = options.short ? SHORT_MINUTES * MINUTE : options.hours && options.hours * HOUR
      return untilStopped(ms, (signal) => (options.short ? runSample : runWhole)({ ...options, serverUrl, signal }))
    }),
}

type RunOptions = ProofOptions & { readonly serverUrl: string; readonly signal: AbortSignal }

/** The signal comes after `ms`, or when somebody ends this process; the test processes are then ended. */
async function untilStopped<T>(ms: number | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController()
  const abort = () => stop.abort()
  const timer = ms === undefined ? undefined : setTimeout(abort, ms)
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const name of signals) process.once(name, abort)
  stop.signal.addEventListener('abort', endTests)
  try {
    return await work(stop.signal)
  } finally {
    clearTimeout(timer)
    for (const name of signals) process.off(name, abort)
  }
}

/** A run that is cut keeps what it played in the folder of its state, and continues there. */
async function runWhole({ stateFolder, print, serverUrl, signal }: RunOptions): Promise<ProofResult> {
  const recording = await recordStatements(recordedFiles(), stateFolder)
  const { mutants, refused, unprinted } = await mutantsIn(recording, serverUrl)
  print(`${mutants.length} mutants; ${refused} more are refused by Postgres`)
  const killers = readKillers()
  const stepsOf = createStepsOf(recording.tests, killers)
  const judged = await playMutants({ mutants, stepsOf, ...placesIn(stateFolder), signal, print })
  // A file whose recording was cut, or failed, gave no mutants: its kills are none of this run.
  if (recording.isWhole) writeKillers(killersAfter(killers, judged, recording.tests))
  const known = knownSurvivors()
  const living = unexplained(judged, known)
  for (const { mutant, verdict } of living) print(`not explained in survivors.json (${verdict}): ${mutant.key}`)
  const notPlayed = judged.filter(({ verdict }) => verdict === 'not played').length
  return {
    holds: recording.isWhole && living.length === 0 && judged.length > 2 * notPlayed,
    tables: tablesOf(judged, known),
    survivors: explained(judged, known),
    notChecked: [
      `${notPlayed} of ${judged.length} mutants of SQL, which were not played in the time of the run.`,
      `${refused} mutants that Postgres refuses to plan, and ${unprinted.length} statements that the printer does not give back unchanged.`,
      'Functions and views of the migrations, COPY, and statements that only processes of their own send: those of commands, and of tests that kill processes.',
      'Of the tests that send a statement: those beyond one minute of its own subject and a quarter of a minute of the others, the slowest.',
    ],
  }
}

async function runSample({ stateFolder, seed, print, serverUrl, signal }: RunOptions): Promise<ProofResult> {
  return playSample({
    killers: readKillers(),
    seed,
    record: (files) => recordStatements(files, stateFolder),
    mutantsOf: async (recording) => (await mutantsIn(recording, serverUrl)).mutants,
    ...placesIn(stateFolder),
    signal,
    print,
  })
}

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
