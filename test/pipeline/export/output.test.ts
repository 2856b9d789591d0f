import { mkdtemp, open, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { nothingWritten, openFileOutput } from '../../../src/pipeline/export/output.ts'

test('an output is on the disk before a state names its length, and before it counts as whole', async ({
  onTestFinished,
}) => {
  const folder = await mkdtemp(join(tmpdir(), 'output-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const probe = await open(join(folder, 'probe'), 'w')
  const sync = vi.spyOn(Object.getPrototypeOf(probe), 'sync')
  onTestFinished(() => sync.mockRestore())
  await probe.close()
  const output = await openFileOutput(join(folder, 'rows'), { kept: nothingWritten, isInvalidUntilComplete: false })

  await output.write('a\n')
  expect(sync).toHaveBeenCalledTimes(0)
  expect(await output.flush()).toEqual({
    bytes: 2,
    sha256: '87428fc522803d31065e7bce3cf03fe475096631e5e07bbd7a0fde60c4cf25c7',
  })
  expect(sync).toHaveBeenCalledTimes(1)
  await output.write('b\n')
  await output.close({ isComplete: true })
  expect(sync).toHaveBeenCalledTimes(2)
  expect(await readFile(join(folder, 'rows'), 'utf8')).toBe('a\nb\n')
})
