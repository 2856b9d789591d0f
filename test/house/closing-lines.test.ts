import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Runs these test files by a process of their own, and gives what it printed and its exit code. */
async function closingLinesOf(files: Record<string, string>): Promise<{ lines: string[]; code: number | null }> {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-closing-'))
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  const reporter = join(root, 'test/support/skipped-reporter.ts')
  const words = ['run', '--root', folder, '--globals', '--reporter', reporter, '--maxWorkers', '1']
  const { stdout, status } = spawnSync(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), ...words], {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], FORCE_COLOR: '1' },
  })
  await rm(folder, { recursive: true })
  return { lines: stdout.trimEnd().split('\n').slice(-2), code: status }
}

test('a run ends with what was left out, and with its counts alone on a plain line', async () => {
  const files = { 'a.test.ts': `test('a', () => {})\ntest('b', ({ skip }) => skip('no Redis here'))` }

  expect(await closingLinesOf(files)).toEqual({
    lines: ['Left out: 1 tests (no Redis here)', 'Tests: 1 passed, 0 failed, 1 skipped'],
    code: 0,
  })
})

test('a test that fails, a file that cannot be read and one that cannot begin each count as failed', async () => {
  const files = {
    'a.test.ts': `test('a', () => {})\ntest('b', () => { throw new Error('red') })`,
    'b.test.ts': `throw new Error('no tests here')`,
    'c.test.ts': `beforeAll(() => { throw new Error('no world') })\ntest('c', () => {})`,
  }
  const { lines, code } = await closingLinesOf(files)

  expect([lines.at(-1), code]).toEqual([expect.stringMatching(/^Tests: 1 passed, 3 failed, \d skipped$/), 1])
})
