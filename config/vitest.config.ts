import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const root = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '')

export default defineConfig({
  root,
  cacheDir: `${root}/.vitest/cache`,
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/engines.ts'],
    reporters: ['default', `${root}/test/support/left-out.ts`],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    teardownTimeout: 20_000,
  },
})
