import type { Mutant } from './mutants.ts'

/** The plays of one test process: one file of tests, again and again, each time with another mutant. */
export type Plan = { readonly file: string; readonly plays: readonly Play[] }

/** The mutants of a play are of different statements. Several at once: most have survived other tests, and survive these together. */
export type Play = {
  readonly id: string
  readonly mutants: ReadonlyArray<Pick<Mutant, 'id' | 'exchanges'>>
  /** Names of the tests that send the statements; an empty name stands for all. */
  readonly tests: readonly string[]
}

export type Outcome = {
  /** The id of a play, or of its only mutant. */
  readonly id: string
  readonly outcome: 'killed' | 'survived' | 'timed out' | 'not run'
  /** The test that failed, and the first line of its error. */
  readonly test?: string
  readonly error?: string
}

/** A play with the tests that passed. A play of one mutant ends at the first failure. */
export type PlayOutcome = Outcome & { readonly passed: readonly string[] }

/** The last play of each process: the tests that failed, as they are. It fails if a mutant before it left something behind. */
export const CONTROL = 'control'

/** How long a test waits for a state that a mutant may never reach, and how long a test of a mutant may take. */
export const POLL_MS_MAX = 10_000
export const TEST_MS_MAX = 30_000
