import type { Killers } from './listed-mutants.ts'

/** The tests of the chosen files together; they are run once as they are, and then against the mutants. */
const SECONDS_MAX = 20
const FILES_MAX = 8
const IDS_MAX = 40

/** Some files, and of the mutants that they killed some: chosen by the seed. */
export function sampleOf(killers: Killers, seed: number): Record<string, readonly string[]> {
  const shuffle = shuffling(seed)
  let seconds = 0
  const files = shuffle(Object.keys(killers)).filter((file) => {
    const own = killers[file]?.seconds ?? 0
    const fits = seconds + own <= SECONDS_MAX
    if (fits) seconds += own
    return fits
  })
  const kills = files.slice(0, FILES_MAX).flatMap((file) => (killers[file]?.ids ?? []).map((id) => ({ file, id })))
  const byFile = Map.groupBy(shuffle(kills).slice(0, IDS_MAX), ({ file }) => file)
  return Object.fromEntries([...byFile].map(([file, list]) => [file, list.map(({ id }) => id)]))
}

/** Mulberry32 shuffles. */
function shuffling(seed: number): <T>(list: readonly T[]) => T[] {
  let state = seed
  const random = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
  return (list) =>
    list
      .map((item) => ({ item, place: random() }))
      .toSorted((one, other) => one.place - other.place)
      .map(({ item }) => item)
}
