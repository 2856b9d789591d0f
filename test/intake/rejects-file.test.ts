import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openRejectsFile } from '../../src/intake/rejects-file.ts'

test.each([
  ['as it was', '{"line":1}\n', '{"line":1}\n{"line":2}\n'],
  ['with a line that no progress covers', '{"line":1}\n{"line":9}\n', '{"line":1}\n{"line":2}\n'],
  ['gone', undefined, '{"line":2}\n'],
  ['emptied', '', '{"line":2}\n'],
])('a resumed import goes on with its file of rejected lines: %s', async (_, left, expected) => {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-rejects-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const path = join(folder, 'rejects.ndjson')
  if (left !== undefined) await writeFile(path, left)

  const rejects = openRejectsFile(path, '{"line":1}\n'.length)
  await rejects.write([{ line: 2 }])
  await rejects.close()

  expect(await readFile(path, 'utf8')).toBe(expected)
  expect(rejects.bytes()).toBe(expected.length)
})
