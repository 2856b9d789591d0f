import { readFileSync, writeFileSync } from 'node:fs'

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

/** By the file of tests that killed them in the last whole run: the ids of mutants. */
export type Killers = Readonly<Record<string, readonly string[]>>

export const readKillers = (): Killers => read('killers.json')

export function writeKillers(kills: ReadonlyArray<{ readonly file: string; readonly id: string }>): void {
  const byFile = [...Map.groupBy(kills, ({ file }) => file)]
    .map(([file, list]): [string, string[]] => [file, list.map(({ id }) => id).toSorted()])
    .toSorted(([one], [other]) => one.localeCompare(other))
  writeFileSync(place('killers.json'), `${JSON.stringify(Object.fromEntries(byFile), null, 1)}\n`)
}
