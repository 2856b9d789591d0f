import type { Reporter, TestModule } from 'vitest/node'

/**
 * Ends every run with two plain lines without colours: the skipped tests with the reasons, and the counts of tests. A reader
 * of a long listing finds them at its end; `.ci/run` repeats them.
 */
export default class LeftOut implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>): void {
    process.stdout.write(`\nLeft out: ${leftOut(modules)}\n${counted(modules)}\n`)
  }
}

function leftOut(modules: ReadonlyArray<TestModule>): string {
  const reasons = new Map<string, number>()
  for (const test of modules.flatMap((module) => [...module.children.allTests('skipped')])) {
    const result = test.result()
    const reason = (result.state === 'skipped' && result.note) || 'no reason given'
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
  }
  return [...reasons].map(([reason, count]) => `${count} tests (${reason})`).join('; ') || 'nothing'
}

/** A test that did not end counts as failed, and so does a file that could not be loaded: 0 failed means that all tests passed. */
function counted(modules: ReadonlyArray<TestModule>): string {
  const having = (state: 'passed' | 'failed' | 'skipped' | 'pending') =>
    modules.reduce((sum, module) => sum + [...module.children.allTests(state)].length, 0)
  const broken = modules.filter(
    (module) => module.state() === 'failed' && [...module.children.allTests('failed')].length === 0,
  ).length
  const failed = having('failed') + having('pending') + broken
  return `Tests: ${having('passed')} passed, ${failed} failed, ${having('skipped')} skipped`
}
