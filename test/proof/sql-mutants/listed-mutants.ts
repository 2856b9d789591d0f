import { readFileSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { SECOND } from '../../../src/base/time/units.ts'
import type { Judged } from './play.ts'
import type { RecordedTest } from './recording.ts'

/** Why no test notices some mutants. Equivalent: the changed statement does the same, or what differs is no promise. */
type KnownSurvivors = { readonly equivalent: boolean; readonly reason: string; readonly mutants: readonly string[] }

const place = (name: string) => new URL(name, import.meta.url)
const read = <T>(name: string): T => JSON.parse(readFileSync(place(name), 'utf8'))

export type Reason = Pick<KnownSurvivors, 'equivalent' | 'reason'>

/** By the key of a mutant. */
export const knownSurvivors = (): ReadonlyMap<string, Reason> =>
  new Map(
    read<KnownSurvivors[]>('survivors.json').flatMap(({ mutants, ...reason }) => mutants.map((key) => [key, reason])),
  )

/** By the name of a file of tests, without its folder: how long its tests take, and the ids of mutants that they killed. */
export type Killers = Readonly<Record<string, { readonly seconds: number; readonly ids: readonly string[] }>>

export const readKillers = (): Killers => read('killers.json')

/**
 * The kills of this run, and those of earlier runs for mutants that this run did not play. A mutant that counts as equivalent was killed
 * by chance.
 */
export function killersAfter(before: Killers, judged: readonly Judged[], tests: readonly RecordedTest[]): Killers {
  const known = knownSurvivors()
  const notPlayed = new Set(judged.flatMap(({ mutant, verdict }) => (verdict === 'not played' ? mutant.id : [])))
  const kept = Object.entries(before).flatMap(([file, { ids }]) =>
    ids.filter((id) => notPlayed.has(id)).map((id) => ({ file, id })),
  )
  const kills = judged.flatMap(({ mutant: { id, key, operator }, by }) =>
    by && !isNoticedByRace.test(operator) && !known.has(key) ? [{ file: basename(by.file), id }] : [],
  )
  const byFile = Map.groupBy([...kept, ...kills], ({ file }) => file)
  const entries = [...byFile].map(([file, list]) => {
    const ms = tests.reduce((sum, test) => sum + (basename(test.file) === file ? test.ms : 0), 0)
    return [file, { seconds: Math.ceil(ms / SECOND), ids: list.map(({ id }) => id).toSorted() }] as const
  })
  return Object.fromEntries(entries)
}

/** A test notices these only in a race, which the next run may not have: they are no part of a sample. */
const isNoticedByRace = /lock/

export function writeKillers(killers: Killers): void {
  const byName = Object.entries(killers).toSorted(([one], [other]) => one.localeCompare(other))
  writeFileSync(place('killers.json'), `${JSON.stringify(Object.fromEntries(byName), null, 2)}\n`)
}
