import { fileURLToPath } from 'node:url'
import type { TestSpecification } from 'vitest/node'
import SlowFilesFirst from '../../../config/slow-files-first.ts'
import base, { engineTests } from '../../../config/vitest.config.ts'
import { POLL_MS_MAX, TEST_MS_MAX } from './plan.ts'

/** The tests with engines as `config/vitest.config.ts` runs them, in processes that record statements or exchange one. */

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url))
const { projects: _, ...run } = base.test ?? {}
const isPlay = process.env['SQL_PLAN'] !== undefined

/** A run that is cut keeps the files that have ended: behind slow ones, none would end in a short one. */
class QuickFilesFirst extends SlowFilesFirst {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toReversed()
  }
}

export default {
  ...base,
  test: {
    ...run,
    ...engineTests,
    include: isPlay ? ['test/proof/sql-mutants/play-mutants.ts'] : engineTests.include,
    setupFiles: [...engineTests.setupFiles, here('./name-test.ts')],
    sequence: { sequencer: QuickFilesFirst },
    reporters: isPlay ? ['dot'] : ['dot', here('./list-tests.ts')],
    execArgv: ['./end-with-parent.ts', './exchange-statements.ts'].flatMap((name) => ['--import', here(name)]),
    maxWorkers: Number(process.env['SQL_WORKERS'] ?? 1),
    ...(isPlay
      ? { testTimeout: TEST_MS_MAX, hookTimeout: TEST_MS_MAX, expect: { poll: { timeout: POLL_MS_MAX, interval: 20 } } }
      : {}),
  },
}
