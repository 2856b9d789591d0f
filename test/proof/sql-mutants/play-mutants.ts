import { appendFileSync, readFileSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, describe, type RunnerTask, type RunnerTestSuite } from 'vitest'
import { soon } from '../../support/fixtures.ts'
import { CONTROL, type Outcome, type Plan, type Play, POLL_MS_MAX } from './plan.ts'
import { nameOf } from './test-names.ts'

/*
 * Plays mutants against one file of tests in one process: a suite for each, that imports the file again. A suite ends at the first
 * failure; after a time-out the process ends, since its test still runs.
 */

const { SQL_PLAN: planFile = '', SQL_RESULTS: results = '' } = process.env
const plan: Plan = JSON.parse(readFileSync(planFile, 'utf8'))
/** The tests that failed: they are run once more, as they are. */
const killers: string[] = []
const control: Play = { id: CONTROL, exchanges: [], tests: killers }
Object.assign(soon, { timeout: POLL_MS_MAX })

/** Fixtures that live as long as a file must be declared outside of suites: the modules that declare them are loaded here. */
const ownImports = /\bfrom '(\.{1,2}\/[^']+)'/g
for (const [, path = ''] of readFileSync(plan.file, 'utf8').matchAll(ownImports))
  await import(fileURLToPath(new URL(path, pathToFileURL(plan.file))))

let isStopped = false

for (const play of [...plan.plays, control])
  describe(`mutant ${play.id}`, async () => {
    const isWanted = (task: RunnerTask) => play.tests.includes('') || play.tests.includes(nameOf(task))
    let failed: { task: RunnerTask; error: string } | undefined
    let ran = 0
    beforeAll(({}, suite) => {
      process.env['SQL_MUTANT'] = play.id
      for (const task of testsOf(suite)) if (isStopped || !isWanted(task)) task.mode = 'skip'
    })
    beforeEach(({ skip }) => {
      if (failed) skip()
      ran++
    })
    afterEach(({ task }) => {
      const [error] = task.result?.errors ?? []
      if (!error) return
      failed = { task, error: error.message ?? '' }
      killers.push(nameOf(task))
    })
    afterAll(() => {
      if (isStopped) return
      const outcome = outcomeOf(failed?.error, ran)
      isStopped = outcome === 'timed out'
      const by = failed && { test: nameOf(failed.task), error: failed.error.split('\n')[0]?.slice(0, 200) ?? '' }
      const line: Outcome = { id: play.id, outcome, ...by }
      appendFileSync(results, `${JSON.stringify(line)}\n`)
    })
    await import(`${plan.file}?mutant=${play.id}`)
  })

const testsOf = ({ tasks }: RunnerTestSuite): RunnerTask[] =>
  tasks.flatMap((task) => (task.type === 'suite' ? testsOf(task) : [task]))

function outcomeOf(error: string | undefined, ran: number): Outcome['outcome'] {
  if (error === undefined) return ran === 0 ? 'not run' : 'survived'
  return /timed out in \d+ ?ms/i.test(error) ? 'timed out' : 'killed'
}
