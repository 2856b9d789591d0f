import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import SlowFilesFirst from './slow-files-first.ts'

const root = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '')

export default defineConfig({
  root,
  cacheDir: `${root}/.vitest/cache`,
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/test-engines.ts'],
    setupFiles: ['test/support/processor-time.ts', 'test/support/check-statements.ts'],
    reporters: ['default', `${root}/test/support/closing-lines-reporter.ts`],
    pool: 'forks',
    sequence: { sequencer: SlowFilesFirst },
    // For the programs that tests start: most of the time that Node takes to load one is compilation.
    env: { NODE_COMPILE_CACHE: `${root}/node_modules/.cache/vitalsync` },
    // Tests wait for much of their time: for a lease, a deadline, an outage. Further workers use the cores meanwhile.
    maxWorkers: 6,
    // Against a test that hangs, not a measure of speed: on a busy machine a process may stand still for many seconds.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000, interval: 20 } },
    teardownTimeout: 20_000,
  },
})
