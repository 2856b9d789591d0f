/**
 * Runs the tests as on a machine that has Node, npm and git alone: no Redis, Docker, Chromium, Python or Postgres client on
 * the PATH.
 *
 *   npm run without-engines              all tests
 *   npm run without-engines -- --short   the test files that name an engine
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { packageOf } from '../support/programs.ts'

const { values } = parseArgs({ options: { short: { type: 'boolean', default: false } } })
const root = fileURLToPath(new URL('../../', import.meta.url))
/** The families of programs that bring an engine, besides those that single tests ask for. */
const engines = /^(redis|valkey|docker|podman|chrom|google-chrome|postgres|pg_|psql|initdb|python|pip|faketime|prom)/

const path = mkdtempSync(join(tmpdir(), 'vitalsync-without-engines-'))
for (const folder of (process.env['PATH'] ?? '').split(delimiter).filter((folderName) => existsSync(folderName)))
  linkPrograms(folder)
const { TEST_DATABASE_URL: _, TEST_REDIS_URL: __, REQUIRE_ENGINES: ___, DOCKER_HOST: ____, ...env } = process.env
const words = ['run', '--config', 'config/vitest.config.ts', ...(values.short ? filesThatNameEngines() : [])]
const tests = spawn(process.execPath, ['node_modules/vitest/vitest.mjs', ...words], {
  cwd: root,
  stdio: 'inherit',
  env: { ...env, PATH: path },
})
const [code] = await once(tests, 'exit')
rmSync(path, { recursive: true })
process.exitCode = code ?? 1

function linkPrograms(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (engines.test(name) || name in packageOf) continue
    try {
      symlinkSync(join(folder, name), join(path, name))
    } catch (error) {
      // An earlier folder of the PATH has a program of this name.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}

function filesThatNameEngines(): string[] {
  const support =
    /support\/(programs|own-redis|redis-server|redis-cluster|pgbouncer|in-terminal)\.ts'|open-browser\.ts'/
  return globSync('test/**/*.test.ts', { cwd: root }).filter((file) =>
    support.test(readFileSync(join(root, file), 'utf8')),
  )
}
