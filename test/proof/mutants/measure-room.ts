import { globSync } from 'node:fs'
import { join } from 'node:path'
import { pureTests } from '../../../config/pure-tests.ts'
import { compilingMutants } from './compiling.ts'
import { isCurrent, type KeptRoom, keepRoom, type LivingMutant, type MeasuredRoom, readKeptRoom } from './kept-rooms.ts'
import type { Mutant } from './mutant.ts'
import { type Room, simulation } from './rooms.ts'
import { digestOf, runStryker, type StrykerRun } from './run-stryker.ts'
import { isEquivalent, type KnownSurvivor, knownSurvivors, outdatedSurvivors, survivorKey } from './survivors.ts'

type Measurement = {
  readonly root: string
  /** Results that still hold are reused from here. */
  readonly stateFolder: string
  /** Mutates these files of the room only. */
  readonly only?: readonly string[] | undefined
  /** Addresses of the engines. */
  readonly environment: Readonly<Record<string, string>>
  /** How many worlds the simulation plays against each mutant where it is alone. */
  readonly worlds: number
  print(line: string): void
}

export type RoomResult = {
  readonly room: string
  /** The date and commit of the measurement, where it is kept. */
  readonly when: string
  /** Files that can change the result have changed since. */
  readonly isOld?: true
  readonly files: readonly FileScore[]
  /** Mutants that no test notices and that the list of survivors does not name. */
  readonly unexplained: readonly LivingMutant[]
  /** Survivors that the list names. */
  readonly explained: readonly KnownSurvivor[]
  readonly outdated: readonly KnownSurvivor[]
}

/** Measures a room, or some of its files. The result of a whole room is kept in the repository. */
export async function measureRoom(room: Room, measurement: Measurement): Promise<RoomResult> {
  // Before: a file that changes meanwhile makes the result old.
  const digests = measurement.only ? undefined : await digestsOf(room, measurement)
  const { measured, mutants } = await measure(room, measurement)
  const known = knownSurvivors(room.name)
  const result = digests ? judgeKept(keepRoom(measured, digests), known) : judgeRoom(measured, known)
  return { ...result, outdated: outdatedSurvivors(known, mutants) }
}

/** The result of a room that was measured before. */
export async function findKeptRoom(room: Room, measurement: Measurement): Promise<RoomResult | undefined> {
  const kept = readKeptRoom(room.name)
  if (kept === undefined) return undefined
  const result = judgeKept(kept, knownSurvivors(room.name))
  if (isCurrent(kept, await digestsOf(room, measurement))) return result
  return { ...result, isOld: true, when: `${result.when}, whose files have changed since` }
}

const digestsOf = (room: Room, measurement: Measurement) => Promise.all(runsOf(room, measurement).map(digestOf))

async function measure(room: Room, measurement: Measurement): Promise<{ measured: MeasuredRoom; mutants: Mutant[] }> {
  const { root, stateFolder, print } = measurement
  const [all, alone] = runsOf(room, measurement)
  if (all === undefined) return { measured: { room: room.name, files: [], living: [] }, mutants: [] }
  print(`${room.name}: mutants against all tests of the room`)
  const mutants = await runStryker(all)
  const unnoticed = mutants.filter(isUnnoticed)
  print(`${room.name}: the compiler checks ${unnoticed.length} mutants that no test notices`)
  const living = await compilingMutants(root, unnoticed, join(stateFolder, 'compile'))
  if (alone) print(`${room.name}: mutants against the simulation alone, ${measurement.worlds} worlds`)
  const simulated = alone ? await runStryker(alone) : []
  const files = [...Map.groupBy(mutants, ({ file }) => file)].map(([file, own]) => {
    const ofFile = simulated.filter((mutant) => mutant.file === file)
    return {
      file,
      killed: countOf(own, 'killed'),
      timedOut: countOf(own, 'timed out'),
      killedBySimulation: ofFile.length > 0 ? countOf(ofFile, 'killed') : undefined,
    }
  })
  return { measured: { room: room.name, files, living: living.map(withoutPlace) }, mutants }
}

const countOf = (mutants: readonly Pick<Mutant, 'state'>[], state: Mutant['state']) =>
  mutants.filter((mutant) => mutant.state === state).length

const withoutPlace = ({ file, line, from, to, state }: Mutant): LivingMutant => ({ file, line, from, to, state })

const isUnnoticed = ({ state }: Mutant): boolean => state === 'survived' || state === 'unreached'

/** The runs of Stryker: against all tests of the room, and for some of its files against the simulation alone. */
function runsOf(room: Room, { root, stateFolder, only, environment, worlds, print }: Measurement): StrykerRun[] {
  const filesOf = (sources: readonly string[]) =>
    globSync([...sources], { cwd: root }).filter((file) => only?.includes(file) ?? true)
  const { name, engines, waits = false } = room
  const shared = { root, stateFolder, engines, waits, environment, print }
  const worldsAlone = { ...environment, SIMULATION_WORLDS: `${worlds}` }
  return [
    { ...shared, name, sources: filesOf(room.sources), tests: testsOf(room, root) },
    {
      ...shared,
      name: `${name}-simulation`,
      sources: filesOf(room.simulated ?? []),
      tests: simulation,
      environment: worldsAlone,
    },
  ].filter(({ sources }) => sources.length > 0)
}

/** A room without engines takes of its tests those that need none. */
function testsOf({ name, tests, engines }: Room, root: string): string[] {
  const pure = engines ? undefined : new Set(pureTests(root))
  const files = globSync([...tests], { cwd: root }).filter((file) => pure?.has(file) ?? true)
  // Without a list of tests Stryker would run all.
  if (files.length === 0) throw new Error(`measure ${name}: none of its tests runs without engines`)
  return files.toSorted()
}

export type FileScore = {
  readonly file: string
  /** Mutants that can be killed: those that compile and are not equivalent. */
  readonly killable: number
  readonly counts: Readonly<Record<'killed' | 'timed out' | 'survived' | 'unreached', number>>
  readonly equivalent: number
  /** Killed by the simulation alone. Undefined where this is not measured. */
  readonly killedBySimulation: number | undefined
}

const judgeKept = (kept: KeptRoom, known: readonly KnownSurvivor[]): RoomResult => ({
  ...judgeRoom(kept, known),
  when: `, ${kept.date}, ${kept.commit}`,
})

function judgeRoom({ room, files, living }: MeasuredRoom, known: readonly KnownSurvivor[]): RoomResult {
  const knownByKey = new Map(known.map((survivor) => [survivorKey(survivor), survivor]))
  const survivors = living.map((mutant) => ({ mutant, known: knownByKey.get(survivorKey(mutant)) }))
  return {
    room,
    when: '',
    files: files.map(({ file, killed, timedOut, killedBySimulation }) => {
      const own = survivors.filter(({ mutant }) => mutant.file === file)
      const killable = own.flatMap(({ mutant, known }) => (known && isEquivalent(known) ? [] : mutant))
      const [survived, unreached] = [countOf(killable, 'survived'), countOf(killable, 'unreached')]
      return {
        file,
        killable: killed + timedOut + killable.length,
        counts: { killed, 'timed out': timedOut, survived, unreached },
        equivalent: own.length - killable.length,
        killedBySimulation,
      }
    }),
    unexplained: survivors.flatMap((survivor) => (survivor.known ? [] : [survivor.mutant])),
    explained: survivors.flatMap((survivor) => survivor.known ?? []),
    outdated: [],
  }
}
