import { execFileSync } from 'node:child_process'
import { chmod, chown, lstat, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test as base, expect } from 'vitest'
import { UsageProblem } from '../../../src/base/errors.ts'
import { lockFolder } from '../../../src/base/files/folder-lock.ts'
import { openPrivateFile, readOrDrawSecret, replacePrivateFile } from '../../../src/base/files/private-file.ts'

const test = base.extend<{ folder: string }>({
  folder: async ({}, use) => {
    const folder = await mkdtemp(join(tmpdir(), 'vitalsync-private-'))
    await use(folder)
    await rm(folder, { recursive: true, force: true })
  },
})
const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8)

test('a new file, and an existing one, may be read by its owner only', async ({ folder }) => {
  const [fresh, known] = [join(folder, 'fresh'), join(folder, 'known')]
  await writeFile(known, 'former')
  await chmod(known, 0o644)

  for (const path of [fresh, known]) await (await openPrivateFile(path, 'hint')).close()

  expect([await modeOf(fresh), await modeOf(known)]).toEqual(['600', '600'])
  expect(await readFile(known, 'utf8')).toBe('former')
})

test('a link, a folder and the file of another user are refused, and stay as they are', async ({ folder }) => {
  const [target, link, given] = [join(folder, 'target'), join(folder, 'link'), join(folder, 'given')]
  await writeFile(given, 'theirs')
  // Only root can give a file away, and only root may write the files of others.
  const foreign = process.getuid?.() === 0 ? given : '/etc/passwd'
  if (foreign === given) await chown(given, 65_534, 65_534)
  await writeFile(target, 'mine')
  await symlink(target, link)

  for (const path of [link, folder, '/dev/null'])
    await expect(openPrivateFile(path, 'Choose another file.')).rejects.toThrow(UsageProblem)
  await expect(openPrivateFile(link, 'Choose another file.')).rejects.toThrow(`write ${link}: it is a symbolic link`)
  await expect(openPrivateFile(foreign, 'Choose another file.')).rejects.toThrow(UsageProblem)

  expect(await readFile(target, 'utf8')).toBe('mine')
  expect((await lstat(link)).isSymbolicLink()).toBe(true)
})

test('what is written into a data folder follows no link, neither of its name nor of its draft', async ({ folder }) => {
  const [target, kept] = [join(folder, 'target'), join(folder, 'postgres-port')]
  await writeFile(target, 'mine')
  const pid = String(process.pid)
  for (const name of ['postgres-port', `postgres-port.${pid}`, `lock.${pid}`]) await symlink(target, join(folder, name))

  await replacePrivateFile(kept, '5432')
  await readOrDrawSecret(join(folder, 'secret'), () => 'drawn', 'hint')
  const unlock = await lockFolder(folder)

  expect(await readFile(target, 'utf8')).toBe('mine')
  expect([await readFile(kept, 'utf8'), await modeOf(kept)]).toEqual(['5432', '600'])
  expect(await readFile(join(folder, 'secret'), 'utf8')).toBe('drawn')
  await unlock()
})

test('a secret is drawn once, however many start at once, and kept for its owner alone', async ({ folder }) => {
  const path = join(folder, 'secret')
  const drawn = await Promise.all(
    Array.from({ length: 20 }, (_, index) => readOrDrawSecret(path, () => `secret ${index}`, 'hint')),
  )
  expect(new Set(drawn).size).toBe(1)
  expect(await readdir(folder)).toEqual(['secret'])
  expect(await modeOf(path)).toBe('600')

  await chmod(path, 0o644)
  expect(await readOrDrawSecret(path, () => 'another', 'hint')).toBe(drawn[0])
  expect(await modeOf(path)).toBe('600')
})

test('no secret is read through a link, from a folder or a pipe, and none is drawn where it cannot be kept', async ({
  folder,
}) => {
  const [target, link, pipe] = [join(folder, 'target'), join(folder, 'link'), join(folder, 'pipe')]
  await writeFile(target, 'known to others')
  await symlink(target, link)
  execFileSync('mkfifo', [pipe])
  const read = (path: string) => readOrDrawSecret(path, () => 'drawn', 'Choose another folder.')

  await expect(read(link)).rejects.toThrow(`read ${link}: it is a symbolic link`)
  await expect(read(folder)).rejects.toThrow(`read ${folder}: it is no ordinary file`)
  await expect(read(pipe)).rejects.toThrow(`read ${pipe}: it is no ordinary file`)
  await expect(read(join(folder, 'none', 'secret'))).rejects.toThrow(UsageProblem)
  expect(await readFile(target, 'utf8')).toBe('known to others')
})

test('a secret that is empty or as long as no secret is refused: with it nothing would be closed', async ({
  folder,
}) => {
  const path = join(folder, 'secret')
  for (const [text, reason] of [
    ['', 'it is empty'],
    [' \r\n', 'it is empty'],
    ['x'.repeat(100_000), 'it is too large'],
  ] as const) {
    await writeFile(path, text)
    await expect(readOrDrawSecret(path, () => 'drawn', 'hint')).rejects.toThrow(`read ${path}: ${reason}`)
  }
})
