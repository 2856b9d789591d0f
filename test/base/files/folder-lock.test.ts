import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { lockFolder } from '../../../src/base/files/folder-lock.ts'

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

test('of processes that take over the lock of a killed one at once, one at a time has it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-lock-'))
  try {
    await writeFile(join(folder, 'lock'), '999999999 1')
    const contender = fileURLToPath(new URL('lock-contender.ts', import.meta.url))
    const contend = () => promisify(execFile)(process.execPath, [contender, folder, '100'])
    const ended = await Promise.all(Array.from({ length: 4 }, contend))
    expect(ended.map(({ stdout }) => stdout)).toEqual(['0', '0', '0', '0'])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
