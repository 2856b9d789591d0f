import { mkdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { loadModule } from 'pgsql-parser'
import { HOUR, MINUTE } from '../../../src/base/time/units.ts'
import type { ProofOptions, ProofPart, ProofResult } from '../part.ts'
import { explained, tablesOf, unexplained } from './figures.ts'
import { type Killers, killersAfter, knownSurvivors, readKillers, writeKillers } from './listed-mutants.ts'
import { type Mutant, mutantsOf } from './mutants.ts'
import { type Judged, playMutants } from './play.ts'
import { playFiles } from './play-files.ts'
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
      const runForm = options.tests ? runFiles : options.short ? runSample : runWhole
      return untilStopped(ms, (signal) => runForm({ ...options, serverUrl, signal }))
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

/**
 * A run that is cut keeps what it played in the folder of its state, and continues there. After each piece of the recording it plays the
 * mutants that these files killed before, so that a run that is cut has its kills. The others wait until all files are recorded.
 */
async function runWhole(options: RunOptions): Promise<ProofResult> {
  const { print, signal } = options
  const killers = readKillers()
  let recorded = -1
  for (;;) {
    const piece = await playRecorded(options, { killers, filesMax: recorded < 0 ? 0 : FILES_PER_PIECE })
    const { recording } = piece
    print(`${recording.files.length} files of tests recorded${recording.isWhole ? ', which are all' : ''}`)
    if (recording.isWhole || recording.files.length === recorded || signal.aborted) return resultOf(piece, options)
    recorded = recording.files.length
  }
}

const FILES_PER_PIECE = 40

type Piece = Awaited<ReturnType<typeof playRecorded>>

async function playRecorded(
  { stateFolder, print, serverUrl, signal }: RunOptions,
  { killers, filesMax }: { killers: Killers; filesMax: number },
) {
  const files = likeliestFirst(recordedFiles(), killers)
  const recording = await recordStatements(files, { stateFolder, filesMax })
  const { mutants, refused, unprinted } = await mutantsIn(recording, serverUrl)
  print(`${mutants.length} mutants; ${refused} more are refused by Postgres`)
  const stepsOf = createStepsOf(recording.tests, killers)
  // A file that is not recorded yet may kill the others.
  const expected = idsKilledBy(recording.files, killers)
  const isDue = ({ id }: Mutant) => recording.isWhole || expected.has(id)
  const due = mutants.filter(isDue)
  const waiting = mutants.filter((mutant) => !isDue(mutant))
  const play = (list: readonly Mutant[]) =>
    playMutants({ mutants: list, stepsOf, killers, ...placesIn(stateFolder), signal, print })
  // Those that live by their explanation run all tests: they come last.
  const known = knownSurvivors()
  const played = await play(due.filter(({ key }) => !known.has(key)))
  played.push(...(await play(due.filter(({ key }) => known.has(key)))))
  const judged = [...(recording.isWhole ? played : played.map(onlyKills)), ...waiting.map(notPlayed)]
  return { recording, judged, refused, unprinted, killers }
}

const idsKilledBy = (files: readonly string[], killers: Killers): ReadonlySet<string> =>
  new Set(files.flatMap((file) => killers[basename(file)]?.ids ?? []))

const notPlayed = (mutant: Mutant): Judged => ({ mutant, verdict: 'not played', by: undefined })
const onlyKills = (one: Judged): Judged => (one.verdict === 'killed' ? one : notPlayed(one.mutant))

/** Files that killed mutants before, the quickest first, and then the others. */
function likeliestFirst(files: readonly string[], killers: Killers): string[] {
  const seconds = (file: string) => killers[basename(file)]?.seconds ?? Number.MAX_VALUE
  return files.toSorted((one, other) => seconds(one) - seconds(other))
}

function resultOf({ recording, judged, refused, unprinted, killers }: Piece, { print }: RunOptions): ProofResult {
  // A file whose recording was cut, or failed, gave no mutants: its kills are none of this run.
  if (recording.isWhole) writeKillers(killersAfter(killers, judged, recording.tests))
  const known = knownSurvivors()
  const living = unexplained(judged, known)
  for (const { mutant, verdict } of living) print(`not explained in survivors.json (${verdict}): ${mutant.key}`)
  const undecided = judged.filter(({ verdict, mutant }) => verdict === 'not played' && !known.has(mutant.key)).length
  return {
    holds: recording.isWhole && living.length === 0 && judged.length > 2 * undecided,
    tables: tablesOf(judged, known),
    survivors: explained(judged, known),
    notChecked: [
      `${undecided} of ${judged.length} mutants of SQL, which were not decided in the time of the run: a share is then a lower bound.`,
      `${living.length} mutants of SQL that live, and that nobody has explained yet.`,
      `${refused} mutants that Postgres refuses to plan, and ${unprinted.length} statements that the printer does not give back unchanged.`,
      'Functions and views of the migrations, COPY, and statements that only processes of their own send: those of commands, and of tests that kill processes.',
      'Of the tests that send a statement: those beyond one minute of its own subject and a quarter of a minute of the others, the slowest.',
    ],
  }
}

const runSample = (options: RunOptions) => playSample({ ...playingOf(options), seed: options.seed })

const runFiles = (options: RunOptions) => playFiles({ ...playingOf(options), files: options.tests ?? [] })

function playingOf({ stateFolder, print, serverUrl, signal }: RunOptions) {
  return {
    killers: readKillers(),
    record: (files: readonly string[]) => recordStatements(files, { stateFolder, filesMax: files.length }),
    mutantsOf: async (recording: Recording) => (await mutantsIn(recording, serverUrl)).mutants,
    ...placesIn(stateFolder),
    signal,
    print,
  }
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
