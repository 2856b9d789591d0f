import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test as base, expect } from 'vitest'
import { readKeptPort, readRunningPort } from '../../../src/base/engines/kept-port.ts'
import { readRunning, writeRunning } from '../../../src/base/engines/running-file.ts'
import { lockFolder } from '../../../src/base/files/folder-lock.ts'

const test = base.extend<{ folder: string }>({
  folder: async ({}, use) => {
    const folder = await mkdtemp(join(tmpdir(), 'vitalsync-running-'))
    await use(folder)
    await rm(folder, { recursive: true })
  },
})

test('the addresses of a start that was killed are not believed, whatever process has its id now', async ({
  folder,
}) => {
  const stranger = spawn(process.execPath, ['-e', 'process.stdin.resume()'], { stdio: ['pipe', 'ignore', 'ignore'] })
  const pid = stranger.pid ?? 0
  const upstream = { url: 'http://127.0.0.1:1', clientId: 'id', clientSecret: 'secret' }
  const addresses = { databaseUrl: 'postgres://127.0.0.1:1/a', queueUrl: 'postgres://127.0.0.1:1/b', upstream }
  await writeRunning(folder, { pid, startedAt: new Date(0).toISOString(), tokenKeys: [], ...addresses })

  expect(await readRunning(folder)).toBe(undefined)
  await writeFile(join(folder, 'lock'), `${pid} 1`) // of a process that began earlier
  expect(await readRunning(folder)).toBe(undefined)
  stranger.kill()
  await once(stranger, 'exit')
})

test('the port of the last start is not that of the start under way: a stranger may listen there', async ({
  folder,
}) => {
  const kept = await readKeptPort(folder, 'a-port')
  await kept.keep(4711)
  await utimes(join(folder, 'a-port'), 1_700_000_000, 1_700_000_000)
  expect(await readRunningPort(folder, 'a-port')).toBe(undefined)
  const unlock = await lockFolder(folder)
  expect(await readRunningPort(folder, 'a-port')).toBe(undefined)
  await kept.keep(4711)
  expect(await readRunningPort(folder, 'a-port')).toBe(4711)
  await unlock()
})
