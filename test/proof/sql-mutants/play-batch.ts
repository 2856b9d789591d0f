import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readLines } from './json-lines.ts'
import type { Mutant } from './mutants.ts'
import { CONTROL, type Outcome, type Plan, TEST_MS_MAX } from './plan.ts'
import { ended, startTests } from './run-tests.ts'
import type { Step } from './steps.ts'

/** `trusted`: after all mutants the tests passed as they are, so that no mutant failed because of one before it. */
export type BatchResult = { readonly outcomes: ReadonlyMap<string, Outcome>; readonly trusted: boolean }

/** A process that ends no play for this long hangs, beyond ten times what its slowest tests took when they were recorded. */
const SILENCE_MS_MAX = 5 * TEST_MS_MAX
const LOOK_EVERY_MS = 2000

/** `survived`: how many files of tests the mutant has survived. */
export type DuePlay = { readonly mutant: Mutant; readonly step: Step; readonly survived: number }

/** Plays mutants against one file of tests in one process. */
export async function playBatch(batch: readonly DuePlay[], workFolder: string): Promise<BatchResult> {
  const folder = mkdtempSync(join(workFolder, 'batch-'))
  const [planFile, results, sent] = ['plan.json', 'results.ndjson', 'sent'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  const plays = batch.map(({ mutant: { id, exchanges }, step: { tests } }) => ({ id, exchanges, tests }))
  const plan: Plan = { file: batch[0]?.step.file ?? '', plays }
  writeFileSync(planFile, JSON.stringify(plan))
  const child = startTests([], { SQL_PLAN: planFile, SQL_RESULTS: results, SQL_SENT: sent })
  const slowest = Math.max(...batch.map(({ step }) => step.ms))
  const hung = await endedOrSilent(child, { results, silenceMsMax: SILENCE_MS_MAX + 10 * slowest })
  const lines = readLines<Outcome>(results)
  const reached = new Set(readLines<string>(sent))
  rmSync(folder, { recursive: true, force: true })
  const outcomes = new Map(
    lines.map((line) => [line.id, line.outcome === 'survived' && !reached.has(line.id) ? notRun(line) : line]),
  )
  // A process that did not come to its first play was only slow to start.
  const unended = hung && lines.length > 0 ? plays.find(({ id }) => !outcomes.has(id)) : undefined
  if (unended) outcomes.set(unended.id, { id: unended.id, outcome: 'timed out' })
  const control = outcomes.get(CONTROL)?.outcome
  return { outcomes, trusted: control !== 'killed' && control !== 'timed out' }
}

/** The tests ran, and none of them sent the statement. */
const notRun = ({ id }: Outcome): Outcome => ({ id, outcome: 'not run' })

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
