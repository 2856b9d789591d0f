import { mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { lockFolder } from '../../src/engines/folder-lock.ts'

test('the lock of a killed process is taken over, unless another start is about to', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-lock-'))
  try {
    await writeFile(join(folder, 'lock'), '999999999 1')
    const takeover = join(folder, 'lock.takeover')
    await mkdir(takeover)
    await expect(lockFolder(folder)).rejects.toThrow('another start keeps taking it')
    expect((await readdir(folder)).sort()).toEqual(['lock', 'lock.takeover'])

    // That start was killed as well.
    const madeMs = (await stat(takeover)).mtimeMs
    await utimes(takeover, (madeMs - 60_000) / 1000, (madeMs - 60_000) / 1000)
    const unlock = await lockFolder(folder)
    expect(await readdir(folder)).toEqual(['lock'])

    await unlock()
    expect(await readdir(folder)).toEqual([])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
