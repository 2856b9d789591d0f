import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, statfs, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startPostgres } from '../../../src/base/engines/embedded-postgres.ts'
import { processesNaming } from '../../support/run-program.ts'

const timeout = 120_000
const MB = 1024 * 1024

/** A folder that goes with its test. As root, the server runs as nobody and must be able to enter. */
async function openFolder(prefix: string, onTestFinished: (remove: () => Promise<void>) => void): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), prefix))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await chmod(folder, 0o755)
  return folder
}

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

test('a draft of a killed start, into which Postgres still writes, is in the way of no other start', {
  timeout,
}, async ({ onTestFinished }) => {
  const folder = await openFolder('vitalsync-draft-', onTestFinished)
  const draft = join(folder, 'postgres.new-1/global')
  await mkdir(draft, { recursive: true })
  const writing = 'echo on; n=0; until [ $n = 20000 ]; do n=$((n + 1)); : > "$1/$n" || exit; done 2>/dev/null'
  const writer = spawn('sh', ['-c', writing, 'sh', draft], { stdio: ['ignore', 'pipe', 'ignore'] })
  onTestFinished(() => void writer.kill('SIGKILL'))
  await once(writer.stdout, 'data')

  const postgres = await startPostgres({ folder, throwAway: true })
  onTestFinished(() => postgres.close())

  expect(await readdir(folder)).not.toContainEqual(expect.stringMatching(/^postgres\.new-/))
})

test('a process that has the id of a former server, and a folder whose name begins alike, is not ended and in no way', {
  timeout,
}, async ({ onTestFinished }) => {
  const folder = await openFolder('vitalsync-orphan-', onTestFinished)
  const former = await startPostgres({ folder })
  await former.close()
  const words = ['-c', 'echo on; read line; echo read', 'sh', '-D', `${former.dataFolder}-2`]
  const ofServer = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
  const stranger = spawn('/bin/sh', words, { cwd: '/', ...ofServer, stdio: ['pipe', 'pipe', 'ignore'] })
  onTestFinished(() => void stranger.kill('SIGKILL'))
  await once(stranger.stdout, 'data')
  await writeFile(join(former.dataFolder, 'postmaster.pid'), `${stranger.pid}\n${former.dataFolder}\n`)

  await (await startPostgres({ folder })).close()

  expect(stranger.signalCode).toBeNull()
  stranger.stdin.end('line\n')
  expect(String(await once(stranger.stdout, 'data'))).toBe('read\n')
})

test('a link in the place of the file of a former server is not followed', { timeout }, async ({ onTestFinished }) => {
  const folder = await openFolder('vitalsync-link-', onTestFinished)
  const former = await startPostgres({ folder })
  await former.close()
  const linked = join(folder, 'of-the-user')
  await writeFile(linked, '99999999\n')
  await symlink(linked, join(former.dataFolder, 'postmaster.pid'))

  await (await startPostgres({ folder })).close()

  expect(await readFile(linked, 'utf8')).toBe('99999999\n')
})

test('a start that is refused, or given up, leaves no server behind', { timeout }, async ({ onTestFinished }) => {
  const folder = await openFolder('vitalsync-refused-', onTestFinished)
  await (await startPostgres({ folder })).close()

  const signal = AbortSignal.abort(new Error('given up'))
  await expect(startPostgres({ folder, signal })).rejects.toThrow('given up')
  expect(await processesNaming(folder)).toEqual([])

  await writeFile(join(folder, 'postgres-password'), 'another')
  await expect(startPostgres({ folder })).rejects.toThrow('the password kept beside the data does not open it')
  expect(await processesNaming(folder)).toEqual([])
})
