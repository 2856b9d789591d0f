import { relative } from 'node:path'
import type { Reporter, SerializedError, TestModule } from 'vitest/node'
import { noteOf, packageOf } from './programs.ts'

/**
 * Ends every run with plain lines without colours: of a long run the slowest files and those that took the most processor time, the
 * errors outside of tests with their file, the counts of tests, and last the skipped tests with their reasons and the command that
 * brings what they need. A reader of a long listing finds them at its end; `.ci/run` repeats them. The counts never say "0 failed"
 * when the run has failed.
 */
export default class ClosingLines implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>, errors: ReadonlyArray<SerializedError>): void {
    const outside = errors.map((error) => `Error outside of tests, in ${fileOf(error)}: ${firstLine(error)}`)
    const lines = [...slowestFiles(modules), ...new Set(outside), counted(modules, errors.length), leftOut(modules)]
    process.stdout.write(`\n${lines.join('\n')}\n`)
  }
}

/** How many files a long run names. A run of no more files names none. */
const FILES_NAMED = 10

/**
 * Where the minutes of a run are. Files run side by side, so the sum of their times is more than the time of the run. The servers
 * that all files share are not in the processor time.
 */
function slowestFiles(modules: ReadonlyArray<TestModule>): string[] {
  if (modules.length <= FILES_NAMED) return []
  const files = modules.map((module) => ({
    name: module.relativeModuleId,
    ms: module.diagnostic().duration + module.diagnostic().collectDuration,
  }))
  const processor = modules.map((module) => ({ name: module.relativeModuleId, ms: module.meta().processorMs ?? 0 }))
  return [`Slowest of ${files.length} files, ${sumAndMost(files)}`, `Processor time: ${sumAndMost(processor)}`]
}

function sumAndMost(files: ReadonlyArray<{ name: string; ms: number }>): string {
  const sumMs = files.reduce((sum, { ms }) => sum + ms, 0)
  const most = files.toSorted((a, b) => b.ms - a.ms).slice(0, FILES_NAMED)
  return `${seconds(sumMs)} in all: ${most.map(({ name, ms }) => `${name} ${seconds(ms)}`).join(', ')}`
}

const seconds = (ms: number): string => `${Math.round(ms / 1000)} s`

function fileOf(error: SerializedError): string {
  const path: unknown = error['VITEST_TEST_PATH']
  return typeof path === 'string' ? relative(process.cwd(), path) : 'the set-up of the run'
}

const firstLine = ({ name, message }: SerializedError): string => `${name ?? 'Error'}: ${message}`.split('\n')[0] ?? ''

/**
 * A test that did not end counts as failed, and so does a file that could not be loaded or an error outside of tests: 0 failed
 * means that all is well.
 */
function counted(modules: ReadonlyArray<TestModule>, errors: number): string {
  const having = (state: 'passed' | 'failed' | 'skipped' | 'pending') =>
    modules.reduce((sum, module) => sum + [...module.children.allTests(state)].length, 0)
  const broken = modules.filter(
    (module) => module.state() === 'failed' && [...module.children.allTests('failed')].length === 0,
  ).length
  const failed = having('failed') + having('pending') + broken + errors
  return `Tests: ${having('passed')} passed, ${failed} failed, ${having('skipped')} skipped`
}

function leftOut(modules: ReadonlyArray<TestModule>): string {
  const reasons = new Map<string, number>()
  for (const test of modules.flatMap((module) => [...module.children.allTests('skipped')])) {
    const result = test.result()
    const reason = (result.state === 'skipped' && result.note) || 'no reason given'
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
  }
  const counts = [...reasons].map(([reason, count]) => `${count} tests (${reason})`).join('; ')
  const packages = Object.entries(packageOf).flatMap(([program, name]) =>
    reasons.has(noteOf(program as keyof typeof packageOf)) ? [name] : [],
  )
  const cure = packages.length > 0 ? `. On Debian: apt-get install ${packages.join(' ')}` : ''
  return `Left out: ${counts || 'nothing'}${cure}`
}
