import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig } from 'vitest/config'
import { pureTests } from './pure-tests.ts'
import SlowFilesFirst from './slow-files-first.ts'

const root = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '')
const pure = pureTests(root)

const shared = {
  pool: 'forks',
  // Tests wait for much of their time: for a lease, a deadline, an outage. Further workers use the cores meanwhile.
  maxWorkers: 6,
  // Against a test that hangs, not a measure of speed: on a busy machine a process may stand still for many seconds.
  testTimeout: 300_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: 120_000, interval: 20 } },
} as const

/**
 * Each walks a whole way as a user would: the README and the tutorials as written, a start on a new machine, an upgrade; and the pages in
 * Chromium. Together they take a third of the processor time of all tests, and have a command of their own.
 */
const walks = ['test/walks/**/*.test.ts']
const pages = ['test/browser/**/*.test.ts']

/** The tests that need more than their own process. */
export const engineTests = {
  ...shared,
  include: ['test/**/*.test.ts'],
  exclude: [...configDefaults.exclude, ...pure],
  globalSetup: ['test/support/test-engines.ts'],
  setupFiles: ['test/support/end-of-file.ts', 'test/support/check-statements.ts'],
  // For the programs that tests start: most of the time that Node takes to load one is compilation.
  env: { NODE_COMPILE_CACHE: `${root}/node_modules/.cache/vitalsync` },
}

const pureProject = { ...shared, include: pure, setupFiles: ['test/support/end-of-file.ts'] }

export default defineConfig({
  root,
  cacheDir: `${root}/.vitest/cache`,
  test: {
    projects: [
      // A process runs several files, and loads each module once: no file leaves anything behind that another could see.
      {
        root,
        test: {
          name: 'engines',
          ...engineTests,
          exclude: [...engineTests.exclude, ...walks, ...pages],
          isolate: false,
        },
      },
      { root, test: { name: 'walks', ...engineTests, include: walks, isolate: false } },
      { root, test: { name: 'pages', ...engineTests, include: pages, isolate: false } },
      { root, test: { name: 'pure', ...pureProject, isolate: false } },
    ],
    reporters: ['default', `${root}/test/support/closing-lines-reporter.ts`],
    sequence: { sequencer: SlowFilesFirst },
    maxWorkers: shared.maxWorkers,
    teardownTimeout: 20_000,
  },
})
