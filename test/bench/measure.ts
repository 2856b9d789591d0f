import { readFile } from 'node:fs/promises'
import { cpus, loadavg, release, totalmem } from 'node:os'

/**
 * One figure beside what it is compared with in the same run. `goal`: what was reached, or the last median on a quiet machine less 5 %;
 * a figure below it has lost something. `ratio`, `against`, `goal` and `holds` are null where there is nothing to compare.
 */
export type Measure = {
  readonly name: string
  readonly value: number
  readonly unit: string
  readonly ratio: number | null
  readonly against: string | null
  readonly goal: string | null
  readonly holds: boolean | null
}

/** The word of the process that opens pages in a browser. */
export type ScreensMessage = { readonly said?: string; readonly measures?: readonly Measure[] }

export type RoundOptions = { readonly quick: boolean; readonly say: (line: string) => void }

/** One file of this folder, one command: `npm run bench -- NAME`. */
export type Round = { run(options: RoundOptions): Promise<readonly Measure[]> }

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2
}

/** Lowest, median and highest: what the reader needs to judge the noise of a shared machine. */
export function spreadOf(values: readonly number[]): string {
  const digits = median(values) < 10 ? 2 : 0
  const text = (value: number) => value.toLocaleString('en-US', { maximumFractionDigits: digits })
  return `${text(median(values))} (${text(Math.min(...values))} to ${text(Math.max(...values))}, ${values.length} rounds)`
}

export type Contestant = { readonly name: string; measure(round: number): Promise<number> }

/** Lets all contestants run once per round, each round beginning with another one, and gives each one's figures. No round begins after `secondsMax`. */
export async function alternate(
  contestants: readonly Contestant[],
  options: { rounds: number; say: (line: string) => void; secondsMax?: number },
): Promise<Map<string, number[]>> {
  const figures = new Map<string, number[]>(contestants.map(({ name }) => [name, []]))
  const startedAt = performance.now()
  for (let round = 0; round < options.rounds; round++) {
    if ((performance.now() - startedAt) / 1000 > (options.secondsMax ?? Number.POSITIVE_INFINITY)) break
    const order = contestants.map((_, index) => contestants[(index + round) % contestants.length])
    for (const contestant of order) {
      if (!contestant) continue
      globalThis.gc?.()
      const value = await contestant.measure(round)
      figures.get(contestant.name)?.push(value)
      options.say(`    round ${round + 1}  ${contestant.name.padEnd(28)} ${Math.round(value).toLocaleString('en-US')}`)
    }
  }
  return figures
}

/** The median of the rounds' own ratios: what slows a whole round down falls out of it. */
export function ratioOf(figures: ReadonlyMap<string, readonly number[]>, name: string, against: string): number {
  const [ours, theirs] = [figures.get(name) ?? [], figures.get(against) ?? []]
  return median(ours.map((value, round) => value / (theirs[round] ?? Number.NaN)))
}

/** The median of a contestant, and its ratio to another. A goal is the least ratio, or the greatest. */
export function measureBeside(
  figures: ReadonlyMap<string, readonly number[]>,
  { ours, against, goal, ...shown }: { ours: string; against: string; unit: string; goal: Goal; name?: string },
): Measure {
  const ratio = rounded(ratioOf(figures, ours, against))
  const value = rounded(median(figures.get(ours) ?? []))
  const [goalText, holds] =
    'most' in goal ? [`≤ ${goal.most}`, ratio <= goal.most] : [`≥ ${goal.least}`, ratio >= goal.least]
  return { name: ours, ...shown, value, ratio, against, goal: goalText, holds }
}

type Goal = { readonly most: number } | { readonly least: number }

export const rounded = (value: number, digits = 3): number => Number(value.toPrecision(digits + 2))

/** The conditions without which a figure cannot be read. */
export async function machine(): Promise<string> {
  const [cpu] = cpus()
  const manifest = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'))
  const { bullmq, ioredis, pg, undici } = manifest.dependencies
  const load = loadavg().map((value) => value.toFixed(2))
  return [
    `${cpus().length} × ${cpu?.model ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GB, ${process.platform} ${release()}`,
    `load ${load.join(' ')} · Node ${process.versions.node} · bullmq ${bullmq} · ioredis ${ioredis} · pg ${pg} · undici ${undici}`,
  ].join('\n  ')
}
