import { mergeConfig } from 'vitest/config'
import config from './vitest.config.ts'

/** For rooms whose tests wait for answers: a mutant that loses an answer ends with its test, not with the process of Stryker. */
export default mergeConfig(config, { test: { testTimeout: 3_000 } })
