import { mkdir, open, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { soon } from '../../support/fixtures.ts'
import { startProgram } from '../../support/run-program.ts'
import { importTest } from './import-world.ts'

const timeout = 300_000
const test = importTest(['ada'])
const GIGABYTE = 1024 ** 3

/** A database that takes long to copy: it has no bytes on the disk but its first. */
async function largeDatabase(path: string): Promise<string> {
  const file = await open(path, 'w')
  await file.write('SQLite format 3\u0000')
  await file.truncate(2 * GIGABYTE)
  await file.close()
  return path
}

test('a copy that a killed import left is gone after the next; that of a running one stays, and after Ctrl-C none is left', {
  timeout,
}, async ({ folder, warehouseUrl, query }) => {
  await query('select 1')
  const temporary = join(folder, 'tmp')
  await mkdir(temporary)
  const env = { DATABASE_URL: warehouseUrl, TMPDIR: temporary }
  const start = (file: string) => startProgram(['import', file, '--profile', 'ada'], { cwd: folder, env })
  const copies = async () => (await readdir(temporary)).filter((name) => name.startsWith('vitalsync-import-'))
  const large = await largeDatabase(join(folder, 'large.db'))
  const small = join(folder, 'small.xml')
  await writeFile(small, '<HealthData></HealthData>')

  const killed = start(large)
  await expect.poll(copies, soon).toHaveLength(1)
  killed.kill('SIGKILL')
  await killed.ended
  const [left = ''] = await copies()
  const running = start(large)
  await expect.poll(copies, soon).not.toContain(left)
  await expect.poll(copies, soon).toHaveLength(1)
  // It stands still, however fast this machine copies.
  running.kill('SIGSTOP')
  const beside = await start(small).ended

  expect(beside.code).toBe(0)
  expect(await copies()).toHaveLength(1)
  running.kill('SIGINT')
  running.kill('SIGCONT')
  const { code } = await running.ended
  expect([code, await copies()]).toEqual([1, []])
})
