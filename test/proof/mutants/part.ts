import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import setupEngines from '../../support/test-engines.ts'
import type { ProofOptions, ProofPart, ProofResult, Survivor } from '../part.ts'
import { measureRoom, type RoomResult } from './measure-room.ts'
import { type Room, rooms } from './rooms.ts'
import { surroundingsHash } from './run-stryker.ts'
import { sampleOfRooms } from './sample.ts'
import type { KnownSurvivor } from './survivors.ts'
import { describeUnexplained, percentOf, scoreTable } from './tables.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '')

/** Worlds that the simulation plays against each mutant where it is alone. `npm test` plays 2,000. */
const WORLDS = { short: 60, whole: 200 }

export const part: ProofPart = {
  name: 'mutants',
  checks:
    'StrykerJS changes the sources, one place at a time, and runs the tests that reach the place. A change that no test notices must be explained.',
  promises: [3, 4, 5, 7, 8, 10, 11, 12, 15],
  minutes: { short: 3, whole: 60 },
  async run(options: ProofOptions): Promise<ProofResult> {
    const chosen: Chosen = options.short ? sampleOfRooms(root, rooms, options.seed) : rooms.map((room) => ({ room }))
    // Results of other sources or helpers are not reused: Stryker compares the mutated files and the test files only.
    const stateFolder = join(options.stateFolder, `mutants-${await surroundingsHash(root)}`)
    const worlds = options.short ? WORLDS.short : WORLDS.whole
    const results = await withEngines(chosen, async (environment) => {
      const measured: RoomResult[] = []
      for (const { room, only } of chosen) {
        const measurement = { root, stateFolder, environment, worlds, print: options.print, ...(only ? { only } : {}) }
        measured.push(await measureRoom(room, measurement))
      }
      return measured
    })
    const listed = new Set(chosen.flatMap(({ room }) => (room.isListed ? [room.name] : [])))
    return resultOf(results, listed, options)
  },
}

type Chosen = ReadonlyArray<{ readonly room: Room; readonly only?: readonly string[] }>

/** Starts one Postgres and one Redis for all processes of Stryker, if a room needs them. */
export async function withEngines<T>(
  chosen: Chosen,
  use: (environment: Readonly<Record<string, string>>) => Promise<T>,
): Promise<T> {
  if (!chosen.some(({ room }) => room.engines)) return use({})
  const addresses = new Map<string, string>()
  const close = await setupEngines({ provide: (key, value) => void addresses.set(key, value) })
  try {
    return await use({
      TEST_DATABASE_URL: addresses.get('databaseUrl') ?? '',
      TEST_REDIS_URL: addresses.get('redisUrl') ?? '',
    })
  } finally {
    await close()
  }
}

function resultOf(
  results: readonly RoomResult[],
  listed: ReadonlySet<string>,
  { short, print }: ProofOptions,
): ProofResult {
  const unexplained = results.flatMap((result) => (listed.has(result.room) ? result.unexplained : []))
  const outdated = results.flatMap((result) => result.outdated)
  for (const mutant of unexplained) print(describeUnexplained(mutant))
  for (const { file, from } of outdated) print(`${file}: the list of survivors names lines that are gone: ${from}`)
  return {
    holds: unexplained.length === 0 && outdated.length === 0,
    tables: results.map(scoreTable),
    survivors: results.flatMap(({ explained }) => explained.map(describeSurvivor)),
    notChecked: [
      ...results.flatMap(unlistedLives(listed)),
      'Constants of modules are not changed: they are computed when a module is loaded, once for all mutants of a process.',
      'A mutant that makes the tests run too long counts as neither killed nor survived.',
      'Statements exchanged, a dropped argument or `await`, one clock taken for another: StrykerJS has no operator for these.',
      ...(short ? [`This is a sample: ${percentOf(results)} of its mutants were killed.`] : []),
    ],
  }
}

const unlistedLives = (listed: ReadonlySet<string>) => (result: RoomResult) =>
  listed.has(result.room) || result.unexplained.length === 0
    ? []
    : [`${result.unexplained.length} mutants of ${result.room} live, and nobody has looked at them yet.`]

const describeSurvivor = ({ file, from, to, reason }: KnownSurvivor): Survivor => ({
  where: file,
  change: `${from}  →  ${to}`,
  reason,
})
