import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { packageOf } from '../support/programs.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Runs these test files by a process of their own, and gives what it printed and its exit code. */
async function closingLinesOf(files: Record<string, string>): Promise<{ lines: string[]; code: number | null }> {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-closing-'))
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  const reporter = join(root, 'test/support/closing-lines-reporter.ts')
  const words = ['run', '--root', folder, '--globals', '--reporter', reporter, '--maxWorkers', '1', '--no-isolate']
  const { stdout, status } = spawnSync(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), ...words], {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], FORCE_COLOR: '1' },
  })
  await rm(folder, { recursive: true })
  const printed = stdout.trimEnd().split('\n')
  return { lines: printed.slice(printed.lastIndexOf('') + 1), code: status }
}

test('a run ends with its counts alone on a plain line, and with the tests that were left out', async () => {
  const files = { 'a.test.ts': `test('a', () => {})\ntest('b', ({ skip }) => skip('needs root'))` }

  expect(await closingLinesOf(files)).toEqual({
    lines: ['Tests: 1 passed, 0 failed, 1 skipped', 'Left out: 1 tests (needs root)'],
    code: 0,
  })
})

test('the last line names the command that brings a missing program', async () => {
  const files = {
    'a.test.ts': `test('a', ({ skip }) => skip('no redis-server'))\ntest('b', ({ skip }) => skip('no promtool'))`,
  }
  const { lines } = await closingLinesOf(files)

  expect(lines.at(-1)).toBe(
    'Left out: 1 tests (no redis-server); 1 tests (no promtool). On Debian: apt-get install prometheus redis-server',
  )
})

test('a test that fails, a file that cannot be read and one that cannot begin each count as failed', async () => {
  const files = {
    'a.test.ts': `test('a', () => {})\ntest('b', () => { throw new Error('red') })`,
    'b.test.ts': `throw new Error('no tests here')`,
    'c.test.ts': `beforeAll(() => { throw new Error('no world') })\ntest('c', () => {})`,
  }
  const { lines, code } = await closingLinesOf(files)

  expect([lines.at(-2), code]).toEqual([expect.stringMatching(/^Tests: 1 passed, 3 failed, \d skipped$/), 1])
})

test('a run of many files names the slowest, and those that took the most processor time', async () => {
  const setup = join(root, 'test/support/end-of-file.ts')
  const names = Array.from({ length: 11 }, (_, n) => `${n}.test.ts`)
  const files = Object.fromEntries(names.map((name) => [name, `test('a', () => {})`]))
  const slow = `test('a', () => new Promise((done) => setTimeout(done, 1500)))`
  const busy = `test('a', { timeout: 60_000 }, () => { while (process.cpuUsage().user < 1.5e6) for (let n = 0; n < 1e6; n += 1); })`
  const config = `export default { test: { setupFiles: ['${setup}'] } }`
  const { lines } = await closingLinesOf({
    ...files,
    '7.test.ts': slow,
    '8.test.ts': busy,
    'vitest.config.mjs': config,
  })

  expect(lines).toEqual([
    expect.stringMatching(/^Slowest of 11 files, \d+ s in all: .*\b7\.test\.ts 2 s, (\d+\.test\.ts \d s(, |$)){8,9}$/),
    expect.stringMatching(/^Processor time: \d+ s in all: 8\.test\.ts \d+ s, (\d+\.test\.ts \d s(, |$)){9}$/),
    'Tests: 11 passed, 0 failed, 0 skipped',
    'Left out: nothing',
  ])
})

test('an error outside of tests counts as failed and is named with its file', async () => {
  const files = { 'a.test.ts': `test('a', () => void Promise.reject(new Error('nobody waits for this')))` }
  const { lines, code } = await closingLinesOf(files)

  expect(lines).toEqual([
    'Error outside of tests, in a.test.ts: Error: nobody waits for this',
    'Tests: 1 passed, 1 failed, 0 skipped',
    'Left out: nothing',
  ])
  expect(code).toBe(1)
})

test('.ci/run installs each program that a test may ask for, and requires it', async () => {
  const script = await readFile(join(root, '.ci/run'), 'utf8')
  const [, packages = ''] = /apt-get install [^\\]*\\\n(.*)/.exec(script) ?? []

  expect(packages.trim().split(' ')).toEqual(expect.arrayContaining(Object.values(packageOf)))
  expect(script).toContain('export REQUIRE_ENGINES=all')
})
