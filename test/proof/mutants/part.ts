import { fileURLToPath } from 'node:url'
import { HOUR } from '../../../src/base/time/units.ts'
import setupEngines from '../../support/test-engines.ts'
import type { ProofOptions, ProofPart, ProofResult, Survivor } from '../part.ts'
import { findKeptRoom, measureRoom, type RoomResult } from './measure-room.ts'
import { type Room, rooms } from './rooms.ts'
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
    const { stateFolder } = options
    const worlds = options.short ? WORLDS.short : WORLDS.whole
    const shared = { root, stateFolder, environment: {}, worlds, print: options.print }
    const found = await Promise.all(
      chosen.map(async ({ room, only }) => (only ? undefined : await findKeptRoom(room, shared))),
    )
    const kept = found.filter((result) => result !== undefined)
    const due = chosen.filter(({ room }) => !kept.some((result) => result.room === room.name && !result.isOld))
    const measured = await withEngines(due, async (environment) => {
      const results: RoomResult[] = []
      const endsAtMs = performance.now() + (options.hours ?? Number.POSITIVE_INFINITY) * HOUR
      for (const { room, only } of due) {
        if (performance.now() >= endsAtMs) break
        results.push(await measureRoom(room, { ...shared, environment, only }))
      }
      return results
    })
    const results = chosen.flatMap(
      ({ room }) => [...measured, ...kept].find((result) => result.room === room.name) ?? [],
    )
    const listed = new Set(chosen.flatMap(({ room }) => (room.isListed ? [room.name] : [])))
    const unmeasured = chosen.flatMap(({ room }) => (results.some((one) => one.room === room.name) ? [] : room.name))
    return resultOf({ results, unmeasured, listed }, options)
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
  const end = () => void close().finally(() => process.exit(1))
  for (const name of signals) process.once(name, end)
  try {
    return await use({
      TEST_DATABASE_URL: addresses.get('databaseUrl') ?? '',
      TEST_REDIS_URL: addresses.get('redisUrl') ?? '',
    })
  } finally {
    for (const name of signals) process.off(name, end)
    await close()
  }
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

type Measured = {
  readonly results: readonly RoomResult[]
  /** Rooms that the run did not come to in its time. */
  readonly unmeasured: readonly string[]
  readonly listed: ReadonlySet<string>
}

function resultOf({ results, unmeasured, listed }: Measured, { short, print }: ProofOptions): ProofResult {
  const unexplained = results.flatMap((result) => (listed.has(result.room) ? result.unexplained : []))
  const outdated = results.flatMap((result) => result.outdated)
  const old = results.filter(({ isOld }) => isOld)
  for (const mutant of unexplained) print(describeUnexplained(mutant))
  for (const { file, from } of outdated) print(`${file}: the list of survivors names lines that are gone: ${from}`)
  return {
    holds: [unexplained, outdated, unmeasured, old].every(({ length }) => length === 0),
    tables: results.map(scoreTable),
    survivors: results.flatMap(({ explained }) => explained.map(describeSurvivor)),
    notChecked: [
      ...unmeasured.map((name) => `Mutants of ${name}: the run ended before them.`),
      ...old.map(({ room }) => `Mutants of ${room} as it is now: the run ended before them.`),
      ...results.flatMap(unexplainedText),
      'Constants of modules are not changed: they are computed when a module is loaded, once for all mutants of a process.',
      'A mutant that makes the tests run too long counts as neither killed nor survived.',
      'Statements exchanged, a dropped argument or `await`, one clock taken for another: StrykerJS has no operator for these.',
      ...(short ? [`This is a sample: ${percentOf(results)} of its mutants were killed.`] : []),
    ],
  }
}

const unexplainedText = ({ room, unexplained: { length } }: RoomResult) =>
  length === 0 ? [] : [`${length} mutants of ${room} live, and nobody has looked at them yet.`]

const describeSurvivor = ({ file, from, to, reason }: KnownSurvivor): Survivor => ({
  where: file,
  change: `${from}  →  ${to}`,
  reason,
})
