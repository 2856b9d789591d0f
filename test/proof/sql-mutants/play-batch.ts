import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readLines } from './json-lines.ts'
import type { Mutant } from './mutants.ts'
import { CONTROL, type Outcome, type Plan, type PlayOutcome, TEST_MS_MAX } from './plan.ts'
import { ended, startTests } from './run-tests.ts'
import type { Step } from './steps.ts'

/** `survived`: how many files of tests the mutant has survived. `togetherMax`: of how many mutants its play may be. */
export type DuePlay = {
  readonly mutant: Mutant
  readonly step: Step
  readonly survived: number
  readonly togetherMax: number
}

export type BatchResult = {
  /** By the id of a mutant. */
  readonly outcomes: ReadonlyMap<string, Outcome>
  /** Mutants that may have failed a play of several, each with the tests that it may have failed: for smaller plays. */
  readonly divided: readonly DuePlay[]
  /** The process ended there, and did not come to the plays after it. */
  readonly hasTimedOut: boolean
  /** After all mutants the tests passed as they are, so that no mutant failed because of one before it. */
  readonly trusted: boolean
}

/** A process that ends no play for this long hangs, beyond ten times what its slowest tests took when they were recorded. */
const SILENCE_MS_MAX = 5 * TEST_MS_MAX
const LOOK_EVERY_MS = 2000

/** Plays mutants against one file of tests in one process: those of a group at once. */
export async function playBatch(groups: ReadonlyArray<readonly DuePlay[]>, workFolder: string): Promise<BatchResult> {
  const folder = mkdtempSync(join(workFolder, 'batch-'))
  const [planFile, results, sent] = ['plan.json', 'results.ndjson', 'sent'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  const plays = groups.map((group, index) => ({
    id: `play-${index}`,
    mutants: group.map(({ mutant: { id, exchanges } }) => ({ id, exchanges })),
    tests: [...new Set(group.flatMap(({ step }) => step.tests))],
  }))
  const plan: Plan = { file: groups[0]?.[0]?.step.file ?? '', plays }
  writeFileSync(planFile, JSON.stringify(plan))
  const child = startTests([], { SQL_PLAN: planFile, SQL_RESULTS: results, SQL_SENT: sent })
  const slowest = Math.max(...groups.flat().map(({ step }) => step.ms))
  const hung = await endedOrSilent(child, { results, silenceMsMax: SILENCE_MS_MAX + 10 * slowest })
  const lines = new Map(readLines<PlayOutcome>(results).map((line) => [line.id, line]))
  const reached = new Set(readLines<string>(sent))
  rmSync(folder, { recursive: true, force: true })
  // A process that did not come to its first play was only slow to start.
  const unended = hung && lines.size > 0 ? plays.find(({ id }) => !lines.has(id)) : undefined
  if (unended) lines.set(unended.id, { id: unended.id, outcome: 'timed out', passed: [] })
  const control = lines.get(CONTROL)?.outcome
  const result = { outcomes: new Map<string, Outcome>(), divided: [] as DuePlay[] }
  for (const [index, group] of groups.entries()) {
    const line = lines.get(`play-${index}`)
    if (line) for (const due of group) addResult(result, due, { line, size: group.length, reached })
  }
  const hasTimedOut = [...lines.values()].some(({ outcome }) => outcome === 'timed out')
  return { ...result, hasTimedOut, trusted: control !== 'killed' && control !== 'timed out' }
}

type Seen = { readonly line: PlayOutcome; readonly size: number; readonly reached: ReadonlySet<string> }

/** A mutant survives where all tests that send its statement have passed, whatever other mutants were played with it. */
export function addResult(
  { outcomes, divided }: { outcomes: Map<string, Outcome>; divided: DuePlay[] },
  due: DuePlay,
  { line: { passed, ...line }, size, reached }: Seen,
): void {
  const { id } = due.mutant
  const left = due.step.tests.filter((test) => !passed.includes(test))
  if (line.outcome === 'not run' || line.outcome === 'survived' || left.length === 0)
    outcomes.set(id, { id, outcome: reached.has(id) ? 'survived' : 'not run' })
  else if (size === 1) outcomes.set(id, { ...line, id })
  else divided.push({ ...due, step: { ...due.step, tests: left }, togetherMax: Math.ceil(size / 2) })
}

async function endedOrSilent(
  child: ReturnType<typeof startTests>,
  { results, silenceMsMax }: { results: string; silenceMsMax: number },
): Promise<boolean> {
  let heardAtMs = Date.now()
  let heard = 0
  let hung = false
  const looking = setInterval(() => {
    const { length } = readLines(results)
    if (length > heard) heardAtMs = Date.now()
    heard = length
    if (Date.now() - heardAtMs < silenceMsMax) return
    hung = true
    child.kill('SIGKILL')
  }, LOOK_EVERY_MS)
  await ended(child)
  clearInterval(looking)
  return hung
}
