import type { Killers } from './listed-mutants.ts'

/** About as many files as are run and played in the short form. */
const FILES = 8

/** Some of the files, chosen by the seed: mulberry32 shuffles them. */
export function sampleOf(killers: Killers, seed: number): Killers {
  let state = seed
  const random = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
  const shuffled = Object.entries(killers)
    .map((entry) => ({ entry, place: random() }))
    .toSorted((one, other) => one.place - other.place)
  return Object.fromEntries(shuffled.slice(0, FILES).map(({ entry }) => entry))
}
