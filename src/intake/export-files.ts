import { createHash } from 'node:crypto'
import { lstat, open, readdir, stat } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import { UsageProblem } from '../base/errors.ts'
import type { ExportFile } from './formats/export-format.ts'
import { readUpTo } from './input-file.ts'
import { openZipEntries } from './zip-entries.ts'

/** The files of one import: a single file, the entries of a zip, or all of a folder. */
export type ExportFiles = {
  readonly files: readonly ExportFile[]
  /** Files that are there and are not opened, with the reason. */
  readonly unopened: ReadonlyArray<{ readonly file: string; readonly reason: string }>
  /** The same for the same content: first and last bytes and size of each file. */
  readonly identity: Buffer
  close(): Promise<void>
}

const FILES_MAX = 200_000
const DEPTH_MAX = 16
const IDENTITY_BYTES = 64 * 1024

export async function openExportFiles(path: string): Promise<ExportFiles> {
  if (path === '-')
    throw new UsageProblem('read -: a health export is not read from standard input', {
      hint: 'It is read more than once: store it in a file first.',
    })
  const found = await stat(path)
  if (!found.isDirectory() && !found.isFile())
    throw new UsageProblem(`read ${path}: it is no ordinary file`, {
      hint: 'An export is read more than once, a pipe cannot be: store it in a file first.',
    })
  const unopened: Array<{ file: string; reason: string }> = []
  const paths = found.isDirectory() ? await pathsIn(path, path, unopened) : [path]
  const identity = createHash('sha256')
  const files: ExportFile[] = []
  const open: Array<{ close(): Promise<void> }> = []
  const close = async () => {
    for (const zip of open) await zip.close()
  }
  try {
    for (const filePath of paths.toSorted()) {
      const name = filePath === path ? basename(filePath) : relative(path, filePath)
      const { size } = await stat(filePath)
      const head = await identifyFile(identity, filePath, size).catch((error: unknown) => {
        if (filePath === path) throw error
      })
      if (head === undefined) {
        unopened.push({ file: name, reason: 'a file that this user may not read' })
        continue
      }
      if (!isZip(head)) {
        files.push({ name, sizeBytes: size, open: async () => readUpTo(filePath, { position: 0, size }) })
        continue
      }
      const zip = await openZipEntries(filePath, size)
      open.push(zip)
      files.push(
        ...(filePath === path ? zip.files : zip.files.map((file) => ({ ...file, name: `${name}/${file.name}` }))),
      )
    }
  } catch (error) {
    await close()
    throw error
  }
  return { files: files.toSorted((a, b) => (a.name < b.name ? -1 : 1)), unopened, identity: identity.digest(), close }
}

export const isZip = (head: Buffer): boolean => head.subarray(0, 4).equals(Buffer.from('PK\u0003\u0004', 'latin1'))

/** Adds first bytes, last bytes and size, and returns the first bytes. The end of a zip lists all that is in it. */
async function identifyFile(identity: ReturnType<typeof createHash>, path: string, size: number): Promise<Buffer> {
  const handle = await open(path)
  try {
    const read = async (from: number) => {
      const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(IDENTITY_BYTES), position: from })
      return buffer.subarray(0, bytesRead)
    }
    const head = await read(0)
    identity.update(`${size} `).update(head)
    identity.update(await read(Math.max(0, size - IDENTITY_BYTES)))
    return head
  } finally {
    await handle.close()
  }
}

/** The files below a folder. Links are not followed. */
async function pathsIn(folder: string, root: string, unopened: Array<{ file: string; reason: string }>) {
  const paths: string[] = []
  const walk = async (place: string, depth: number): Promise<void> => {
    if (depth > DEPTH_MAX) throw new UsageProblem(`read ${root}: its folders are nested deeper than ${DEPTH_MAX}`)
    const names = await readdir(place).catch((error: unknown) => {
      if (place === root) throw error
      unopened.push({ file: relative(root, place), reason: 'a folder that this user may not read' })
      return []
    })
    for (const name of names) {
      const path = join(place, name)
      const found = await lstat(path)
      if (found.isDirectory()) await walk(path, depth + 1)
      else if (found.isFile()) paths.push(path)
      else unopened.push({ file: relative(root, path), reason: found.isSymbolicLink() ? 'a link' : 'no ordinary file' })
      if (paths.length > FILES_MAX) throw new UsageProblem(`read ${root}: it has more than ${FILES_MAX} files`)
    }
  }
  await walk(folder, 0)
  return paths
}
