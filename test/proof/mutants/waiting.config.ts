import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { mergeConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { reachedFiles } from '../../../config/pure-tests.ts'
import config from './vitest.config.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '')

const reached = new Map<string, number>()

function countReached(moduleId: string): number {
  const count = reached.get(moduleId) ?? reachedFiles(root, [relative(root, moduleId)]).length
  reached.set(moduleId, count)
  return count
}

/** A test of one part names the fault at once, where a test of many parts waits for an answer that never comes. */
class FewestPartsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files.toSorted((a, b) => countReached(a.moduleId) - countReached(b.moduleId))
  }
}

/** For rooms whose tests wait for answers: a mutant that loses an answer ends with its test, not with the process of Stryker. */
export default mergeConfig(config, { test: { testTimeout: 3_000, sequence: { sequencer: FewestPartsFirst } } })
