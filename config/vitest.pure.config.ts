import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { pureTests } from './pure-tests.ts'

const root = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '')

/** The tests that need nothing but this process: no engine is started, and there is no global set-up. */
export default defineConfig({
  root,
  cacheDir: `${root}/.vitest/cache-pure`,
  test: {
    include: pureTests(root),
    pool: 'threads',
    // No file leaves anything behind that another could see: each module is loaded once for each thread, not for each file.
    isolate: false,
    // They compute all the time: on two cores Vitest alone would take one of them.
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
})
