import type { Reporter, TestModule } from 'vitest/node'

/** Ends every run with one line that names what was left out and why, or says that nothing was. */
export default class LeftOut implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>): void {
    const skipped = modules.flatMap((module) => [...module.children.allTests('skipped')])
    const reasons = new Map<string, number>()
    for (const test of skipped) {
      const result = test.result()
      const reason = (result.state === 'skipped' && result.note) || 'no reason given'
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
    }
    const parts = [...reasons].map(([reason, count]) => `${count} tests (${reason})`)
    process.stdout.write(`\nLeft out: ${parts.length === 0 ? 'nothing' : parts.join('; ')}\n`)
  }
}
