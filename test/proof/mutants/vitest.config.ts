import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const root = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '')

/** The first test that fails ends the run of a mutant. The slow ones run last: the properties of slots, and the simulation. */
class SlowLast extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isSlow = ({ moduleId }: TestSpecification) => Number(/\/test\/simulation\/|slot-properties/.test(moduleId))
    return files.toSorted((a, b) => isSlow(a) - isSlow(b) || (a.moduleId < b.moduleId ? -1 : 1))
  }
}

/**
 * Stryker's configuration of Vitest. There is no global set-up: it would start engines in every process of Stryker. Their addresses
 * come from the environment instead. SIMULATION_WORLDS is lower here than in `npm test`, because each mutant runs these tests.
 */
export default defineConfig({
  root,
  cacheDir: `${root}/.vitest/cache-mutants`,
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/proof/mutants/fixed-seeds.ts'],
    sequence: { sequencer: SlowLast },
    testTimeout: 300_000,
    hookTimeout: 300_000,
    env: { SIMULATION_WORLDS: process.env['SIMULATION_WORLDS'] ?? '40' },
    provide: {
      databaseUrl: process.env['TEST_DATABASE_URL'] ?? '',
      redisUrl: process.env['TEST_REDIS_URL'] ?? '',
    },
  },
})
