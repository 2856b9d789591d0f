/**
 * One part of `npm run proof`. A part checks the tests or the program by machine and returns figures; it never prints a
 * judgement of its own. `holds: false` ends the command with exit code 1.
 */
export type ProofPart = {
  /** The word on the command line: `npm run proof -- --only NAME`. */
  name: string
  /** One sentence for the page: the subject that is checked, and how. */
  checks: string
  /** Numbers of the promises that this part can see broken. */
  promises: readonly number[]
  /** Expected duration on two quiet cores. */
  minutes: { short: number; whole: number }
  run(options: ProofOptions): Promise<ProofResult>
}

export type ProofOptions = {
  /** The form of `.ci/run`: a sample that `seed` chooses. */
  short: boolean
  /** `--hours N`: for parts that search until their time is over. */
  hours: number | undefined
  seed: number
  /** `--tests FILE`: sql-mutants decides again what these files kill, and nothing else. */
  tests?: readonly string[] | undefined
  /** A folder that lasts between runs: a part that was interrupted continues from what it keeps there. */
  stateFolder: string
  print(line: string): void
}

export type ProofResult = {
  holds: boolean
  tables: readonly ProofTable[]
  /** Changes of the program that no test notices, each with the reason why that is right. */
  survivors: readonly Survivor[]
  /** Sentences: what this part does not check. */
  notChecked: readonly string[]
}

export type ProofTable = { title: string; columns: readonly string[]; rows: readonly (readonly (string | number)[])[] }

export type Survivor = { where: string; change: string; reason: string }
