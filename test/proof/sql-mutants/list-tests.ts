import type { Reporter, TestCase, TestModule } from 'vitest/node'
import { addLine } from './json-lines.ts'
import type { EndedFile, RecordedTest } from './recording.ts'

const { SQL_TESTS: testsFile = '', SQL_ENDED: endedFile = '' } = process.env

/** Writes down each test that ran, and each file whose tests have all ended. */
export default class ListTests implements Reporter {
  onTestCaseResult(test: TestCase): void {
    const ms = Math.round(test.diagnostic()?.duration ?? 0)
    const line: RecordedTest = { file: test.module.moduleId, test: test.fullName, state: test.result().state, ms }
    addLine(testsFile, line)
  }

  onTestModuleEnd({ moduleId: file }: TestModule): void {
    const line: EndedFile = { file }
    addLine(endedFile, line)
  }
}
