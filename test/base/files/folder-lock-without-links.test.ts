import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { FolderInUse, lockFolder } from '../../../src/base/files/folder-lock.ts'

// Such a file system cannot be mounted by everybody who runs the tests.
const noLink = () => Promise.reject(Object.assign(new Error('operation not permitted, link'), { code: 'EPERM' }))

test('on a file system without hard links a folder is locked too, by one of many at once', async ({
  onTestFinished,
}) => {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-lock-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const lock = () => lockFolder(folder, undefined, noLink)

  const tries = await Promise.allSettled(Array.from({ length: 10 }, lock))

  const [unlock, ...others] = tries.flatMap((attempt) => (attempt.status === 'fulfilled' ? [attempt.value] : []))
  expect(others).toEqual([])
  const refusals = tries.flatMap((attempt) => (attempt.status === 'rejected' ? [attempt.reason] : []))
  expect(refusals).toHaveLength(9)
  for (const refusal of refusals) expect(refusal).toBeInstanceOf(FolderInUse)
  expect(await readFile(join(folder, 'lock'), 'utf8')).toMatch(/^\d+ \d+$/)
  await unlock?.()
  await expect(lock()).resolves.toBeTypeOf('function')
})
