import { globSync } from 'node:fs'
import { join } from 'node:path'
import { pureTests } from '../../../config/pure-tests.ts'
import { compilingMutants } from './compiling.ts'
import type { Mutant, MutantState } from './mutant.ts'
import { type Room, simulation } from './rooms.ts'
import { runStryker } from './run-stryker.ts'
import { isEquivalent, type KnownSurvivor, knownSurvivors, outdatedSurvivors, survivorKey } from './survivors.ts'

type Measurement = {
  readonly root: string
  /** Results that still hold are reused from here. */
  readonly stateFolder: string
  /** Mutates these files of the room only. */
  readonly only?: readonly string[]
  /** Addresses of the engines. */
  readonly environment: Readonly<Record<string, string>>
  /** How many worlds the simulation plays against each mutant where it is alone. */
  readonly worlds: number
  print(line: string): void
}

export type RoomResult = {
  readonly room: string
  readonly files: readonly FileScore[]
  /** Mutants that no test notices and that the list of survivors does not name. */
  readonly unexplained: readonly Mutant[]
  /** Survivors that the list names. */
  readonly explained: readonly KnownSurvivor[]
  readonly outdated: readonly KnownSurvivor[]
}

export async function measureRoom(room: Room, measurement: Measurement): Promise<RoomResult> {
  const { root, stateFolder, print } = measurement
  print(`${room.name}: mutants against all tests of the room`)
  const mutants = await mutantsKilledBy({ ...room, tests: testsOf(room, root) }, measurement)
  const unnoticed = mutants.filter(isUnnoticed)
  print(`${room.name}: the compiler checks ${unnoticed.length} mutants that no test notices`)
  const compiling = new Set(await compilingMutants(root, unnoticed, join(stateFolder, 'compile')))
  const valid = mutants.filter(
    (mutant) => mutant.state !== 'invalid' && (!isUnnoticed(mutant) || compiling.has(mutant)),
  )
  const simulated = room.simulated ? await mutantsKilledBySimulation(room, room.simulated, measurement) : []
  const known = knownSurvivors(room.name)
  const knownByKey = new Map(known.map((survivor) => [survivorKey(survivor), survivor]))
  const survivors = [...compiling].map((mutant) => ({ mutant, known: knownByKey.get(survivorKey(mutant)) }))
  return {
    room: room.name,
    files: [...Map.groupBy(mutants, ({ file }) => file).keys()].map((file) =>
      scoreOf(file, { valid, simulated, known }),
    ),
    unexplained: survivors.flatMap((survivor) => (survivor.known ? [] : [survivor.mutant])),
    explained: survivors.flatMap((survivor) => survivor.known ?? []),
    outdated: outdatedSurvivors(known, mutants),
  }
}

/** A room without engines takes of its tests those that need none. */
function testsOf({ name, tests, engines }: Room, root: string): string[] {
  const pure = engines ? undefined : new Set(pureTests(root))
  const files = globSync([...tests], { cwd: root }).filter((file) => pure?.has(file) ?? true)
  // Without a list of tests Stryker would run all.
  if (files.length === 0) throw new Error(`measure ${name}: none of its tests runs without engines`)
  return files.toSorted()
}

const isUnnoticed = ({ state }: Mutant): boolean => state === 'survived' || state === 'unreached'

function mutantsKilledBySimulation(
  { name, engines }: Room,
  sources: readonly string[],
  measurement: Measurement,
): Promise<Mutant[]> {
  measurement.print(`${name}: mutants against the simulation alone, ${measurement.worlds} worlds`)
  const environment = { ...measurement.environment, SIMULATION_WORLDS: `${measurement.worlds}` }
  const alone = { name: `${name}-simulation`, sources, tests: simulation, engines }
  return mutantsKilledBy(alone, { ...measurement, environment })
}

function mutantsKilledBy(
  { name, sources, tests, engines }: Pick<Room, 'name' | 'sources' | 'tests' | 'engines'>,
  { root, stateFolder, only, environment, print }: Measurement,
): Promise<Mutant[]> {
  const files = globSync([...sources], { cwd: root }).filter((file) => only?.includes(file) ?? true)
  if (files.length === 0) return Promise.resolve([])
  return runStryker({ root, name, sources: files, tests, engines, environment, stateFolder, print })
}

export type FileScore = {
  readonly file: string
  /** Mutants that can be killed: those that compile and are not equivalent. */
  readonly killable: number
  readonly counts: Readonly<Record<MutantState, number>>
  readonly equivalent: number
  /** Killed by the simulation alone. Undefined where this is not measured. */
  readonly killedBySimulation: number | undefined
}

type Scored = {
  readonly valid: readonly Mutant[]
  readonly simulated: readonly Mutant[]
  readonly known: readonly KnownSurvivor[]
}

function scoreOf(file: string, { valid, simulated, known }: Scored): FileScore {
  const equivalents = new Set(known.filter(isEquivalent).map(survivorKey))
  const own = valid.filter((mutant) => mutant.file === file)
  const killable = own.filter((mutant) => !(isUnnoticed(mutant) && equivalents.has(survivorKey(mutant))))
  const count = (state: MutantState) => killable.filter((mutant) => mutant.state === state).length
  const alone = simulated.filter((mutant) => mutant.file === file)
  return {
    file,
    killable: killable.length,
    counts: {
      killed: count('killed'),
      'timed out': count('timed out'),
      survived: count('survived'),
      unreached: count('unreached'),
      invalid: 0,
    },
    equivalent: own.length - killable.length,
    killedBySimulation: alone.length > 0 ? alone.filter(({ state }) => state === 'killed').length : undefined,
  }
}
