import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, cp, mkdir, mkdtemp, readdir, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test as base, expect } from 'vitest'
import { readKeptPort } from '../../../src/base/engines/kept-port.ts'
import { joinLocalEngines, startLocalEngines } from '../../../src/base/engines/local-engines.ts'
import { readRunning } from '../../../src/base/engines/running-file.ts'
import { makeDataFolder } from '../../../src/base/files/data-folder.ts'
import { lockFolder, lockHolderOf } from '../../../src/base/files/folder-lock.ts'

const test = base.extend<{ folder: string }>({
  folder: async ({}, use) => {
    const folder = await mkdtemp(join(tmpdir(), 'vitalsync-folder-'))
    await use(folder)
    await rm(folder, { recursive: true, force: true })
  },
})

const moduleOf = (name: string) => JSON.stringify(new URL(`../../../src/base/files/${name}.ts`, import.meta.url))

async function lockByAnother(folder: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [
    '-e',
    `import(${moduleOf('folder-lock')}).then(({ lockFolder }) => lockFolder(${JSON.stringify(folder)})).then(() => console.log())
     process.stdin.resume()`,
  ])
  await once(child.stdout, 'data')
  return child
}

/** Everything that looks into a data folder first. */
const uses = { startLocalEngines, joinLocalEngines, readRunning, lockHolderOf, makeDataFolder }

async function expectRefused(folder: string, reason: string): Promise<void> {
  const found = await readdir(folder)
  for (const [name, use] of Object.entries(uses))
    await expect(use(folder), name).rejects.toThrow(`use data folder ${folder}: ${reason}`)
  expect(await readdir(folder)).toEqual(found)
}

test('a data folder in which other users may write is refused', async ({ folder }) => {
  await chmod(folder, 0o777)
  await expectRefused(folder, 'other users may write to it')
})

test('a data folder that another user made, or links to, is refused', async ({ folder, skip }) => {
  if (process.getuid?.() !== 0) skip('needs root, who alone may give a folder away')
  const [theirs, link] = [join(folder, 'theirs'), join(folder, 'link')]
  await mkdir(theirs)
  await writeFile(join(theirs, 'lock'), `${process.ppid}`)
  await writeFile(join(theirs, 'secrets.json'), '{}')
  await chown(theirs, 65_534, 65_534)
  await expectRefused(theirs, 'it belongs to another user')

  await mkdir(join(folder, 'mine'))
  await symlink(join(folder, 'mine'), link)
  await makeDataFolder(link)
  execFileSync('chown', ['-h', '65534', link])
  await expectRefused(link, 'it belongs to another user')
})

test('whatever the umask, others may not write to a data folder that is made', async ({ folder }) => {
  const made = join(folder, 'deep', 'data')
  execFileSync(process.execPath, [
    '-e',
    `process.umask(0); import(${moduleOf('data-folder')})
      .then(({ makeDataFolder }) => makeDataFolder(${JSON.stringify(made)}))`,
  ])
  for (const path of [made, join(made, '..')]) expect((await stat(path)).mode & 0o777).toBe(0o755)
})

test('the copy of a data folder in use does not name the process that uses the original', async ({ folder }) => {
  const [original, copy, moved] = ['original', 'copy', 'moved'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  await mkdir(original)
  const user = await lockByAnother(original)
  await cp(original, copy, { recursive: true, preserveTimestamps: true })

  expect(await lockHolderOf(original)).toBe(user.pid)
  expect(await lockHolderOf(copy)).toBeUndefined()
  const unlock = await lockFolder(copy)
  await unlock()
  await rename(original, moved)
  expect(await lockHolderOf(moved)).toBe(user.pid)
  user.kill()
})

test.for(['link', 'pipe', 'folder'])(
  'a %s in place of a file of the data folder is refused',
  async (kind, { folder }) => {
    const plant = async (name: string) => {
      const path = join(folder, name)
      if (kind === 'link') await symlink('/dev/zero', path)
      if (kind === 'pipe') execFileSync('mkfifo', [path])
      if (kind === 'folder') await mkdir(path)
      return new RegExp(`read ${path}: it is (a symbolic link|no ordinary file)`)
    }
    const otherProcess = await lockByAnother(folder)

    const port = await plant('a-port')
    await expect(readKeptPort(folder, 'a-port')).rejects.toThrow(port)
    const running = await plant('running.json')
    await expect(readRunning(folder)).rejects.toThrow(running)
    const secrets = await plant('secrets.json')
    await expect(joinLocalEngines(folder)).rejects.toThrow(secrets)
    otherProcess.kill()
    await rm(join(folder, 'lock'))
    const lock = await plant('lock')
    for (const use of [lockFolder, lockHolderOf]) await expect(use(folder)).rejects.toThrow(lock)
  },
)

test.for(['', '{"worker":"s3cret', '{"worker":"s3cret"}'])(
  'a damaged file of secrets is named and not quoted: %j',
  async (text, { folder }) => {
    const otherProcess = await lockByAnother(folder)
    for (const name of ['secrets.json', 'running.json']) await writeFile(join(folder, name), text)
    await writeFile(join(folder, 'postgres-port'), '1')

    const failures = await Promise.all([joinLocalEngines(folder), readRunning(folder)].map((use) => use.catch(String)))
    expect(failures).toEqual([
      expect.stringContaining(`UsageProblem: read ${join(folder, 'secrets.json')}: `),
      expect.stringContaining(`UsageProblem: read ${join(folder, 'running.json')}: `),
    ])
    expect(String(failures)).not.toContain('s3cret')
    otherProcess.kill()
  },
)
