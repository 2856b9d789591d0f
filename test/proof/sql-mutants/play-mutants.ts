import { readFileSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, describe, type RunnerTask, type RunnerTestSuite } from 'vitest'
import { soon } from '../../support/fixtures.ts'
import { addLine } from './json-lines.ts'
import { CONTROL, type Plan, type Play, type PlayOutcome, POLL_MS_MAX } from './plan.ts'
import { nameOf } from './test-names.ts'

/*
 * Plays mutants against one file of tests in one process: a suite for each play, that imports the file again. A suite ends at the first
 * failure, or after some where several mutants may be the cause; after a time-out the process ends, since its test still runs.
 */

const { SQL_PLAN: planFile = '', SQL_RESULTS: results = '' } = process.env
const plan: Plan = JSON.parse(readFileSync(planFile, 'utf8'))
/** The tests that failed: they are run once more, as they are. */
const killers: string[] = []
const control: Play = { id: CONTROL, mutants: [], tests: killers }
Object.assign(soon, { timeout: POLL_MS_MAX })

/** Fixtures that live as long as a file must be declared outside of suites: the modules that declare them are loaded here. */
const ownImports = /\bfrom '(\.{1,2}\/[^']+)'/g
for (const [, path = ''] of readFileSync(plan.file, 'utf8').matchAll(ownImports))
  await import(fileURLToPath(new URL(path, pathToFileURL(plan.file))))

/** A play of several mutants with more failures is divided sooner than ended. */
const FAILURES_MAX = 4

let isStopped = false

for (const play of [...plan.plays, control])
  describe(`mutant ${play.id}`, async () => {
    const isWanted = (task: RunnerTask) => play.tests.includes('') || play.tests.includes(nameOf(task))
    const failures: Array<{ test: string; error: string }> = []
    const passed: string[] = []
    let ran = 0
    beforeAll(({}, suite) => {
      process.env['SQL_MUTANT'] = play.id
      for (const task of testsOf(suite)) if (isStopped || !isWanted(task)) task.mode = 'skip'
    })
    beforeEach(({ skip }) => {
      if (failures.length >= (play.mutants.length > 1 ? FAILURES_MAX : 1) || failures.some(isTimeOut)) skip()
      ran++
    })
    afterEach(({ task }) => {
      const [error] = task.result?.errors ?? []
      const test = nameOf(task)
      if (!error) return void passed.push(test)
      failures.push({ test, error: error.message ?? '' })
      killers.push(test)
    })
    afterAll(() => {
      if (isStopped) return
      isStopped = failures.some(isTimeOut)
      const outcome = isStopped ? 'timed out' : failures.length > 0 ? 'killed' : ran > 0 ? 'survived' : 'not run'
      const [first] = failures
      const by = first && { test: first.test, error: first.error.split('\n')[0]?.slice(0, 200) ?? '' }
      const line: PlayOutcome = { id: play.id, outcome, ...by, passed }
      addLine(results, line)
    })
    await import(`${plan.file}?mutant=${play.id}`)
  })

const testsOf = ({ tasks }: RunnerTestSuite): RunnerTask[] =>
  tasks.flatMap((task) => (task.type === 'suite' ? testsOf(task) : [task]))

function isTimeOut({ error }: { error: string }): boolean {
  return /timed out in \d+ ?ms/i.test(error)
}
