import { spawnSync } from 'node:child_process'
import { chmod, mkdtemp, rm, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startPostgres } from '../../../src/base/engines/embedded-postgres.ts'

const timeout = 120_000
const MB = 1024 * 1024

test('an error of a server whose disk is nearly full is the full disk, and with free space the error itself', {
  timeout,
}, async ({ skip, onTestFinished }) => {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-small-disk-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=200m,mode=755', 'tmpfs', folder]).status !== 0)
    skip('needs a user who may mount a small disk')
  onTestFinished(() => void spawnSync('umount', ['-l', folder]))
  await chmod(folder, 0o755) // as root, the server runs as nobody and must be able to enter
  const postgres = await startPostgres({ folder, throwAway: true })
  onTestFinished(() => postgres.close())
  const lost = new Error('Connection terminated unexpectedly')
  const filler = join(folder, 'filler')

  const { bavail, bsize } = await statfs(folder)
  await writeFile(filler, Buffer.alloc(bavail * bsize - 20 * MB))
  expect(await postgres.faultOf(lost)).toMatchObject({ message: 'start Postgres: the disk is full', cause: lost })
  await rm(filler)

  expect(await postgres.faultOf(lost)).toBe(lost)
})
