import type { Stats } from 'node:fs'
import { access, constants, open, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { UsageProblem } from '../errors.ts'

/** `isNamedWrong`: another path, or another user, is the cure. */
type Fault = { readonly words: string; readonly hint: string; readonly isNamedWrong: boolean }

/** The reason why a file or folder that somebody named cannot be used; `text` has its path too. */
type FileFault = Fault & { readonly text: string }

const FREE_SPACE = 'Free some space, and give the same command again.'
const ANOTHER = 'Name another file or folder, or run it as a user with this permission.'
const isFolder = { words: 'it is a folder', hint: 'Name a file.', isNamedWrong: true }

const faults: Readonly<Record<string, Fault>> = {
  ENOSPC: { words: 'the disk is full', hint: FREE_SPACE, isNamedWrong: false },
  EDQUOT: { words: 'the quota is used up', hint: FREE_SPACE, isNamedWrong: false },
  EFBIG: {
    words: 'the file is too large',
    hint: 'Choose a disk that allows larger files, or raise the limit.',
    isNamedWrong: false,
  },
  EMFILE: { words: 'too many files are open', hint: 'Raise the limit: ulimit -n 4096.', isNamedWrong: false },
  EIO: { words: 'the disk has an error', hint: 'Check the disk, or name another file.', isNamedWrong: false },
  EROFS: { words: 'the disk is read-only', hint: ANOTHER, isNamedWrong: true },
  EACCES: { words: 'permission denied for this user', hint: ANOTHER, isNamedWrong: true },
  EPERM: { words: 'permission denied for this user', hint: ANOTHER, isNamedWrong: true },
  EISDIR: isFolder,
  EEXIST: { words: 'there is a file of this name', hint: 'Name a folder.', isNamedWrong: true },
  ENOTDIR: { words: 'a part of its path is no folder', hint: 'Name another path.', isNamedWrong: true },
  ENOENT: {
    words: 'there is no such file or folder',
    hint: 'Check the path, or make the folder first.',
    isNamedWrong: true,
  },
  ELOOP: { words: 'its symbolic links lead in a circle', hint: 'Name another path.', isNamedWrong: true },
  ENAMETOOLONG: { words: 'the name is too long', hint: 'Choose a shorter name.', isNamedWrong: true },
  ESPIPE: { words: 'it is a pipe', hint: 'It is read more than once: store it in a file first.', isNamedWrong: true },
  ENXIO: { words: 'it is no ordinary file', hint: 'Name a file.', isNamedWrong: true },
}

type FileError = Error & {
  readonly code: string
  readonly syscall: string
  readonly path?: string
  readonly dest?: string
}

const isFileError = (error: unknown): error is FileError =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && 'syscall' in error

const verbs: Readonly<Record<string, string>> = {
  access: 'use',
  lstat: 'read',
  mkdir: 'make',
  rename: 'write',
  scandir: 'read',
  stat: 'read',
}

/** Undefined: it is no error of the file system that has words here. */
export function fileFaultOf(error: unknown): FileFault | undefined {
  if (!isFileError(error) || /^(connect|listen|bind)$/.test(error.syscall)) return undefined
  const { code, syscall, path = 'a file', dest = path } = error
  const fault = faults[code]
  return fault && { ...fault, text: `${verbs[syscall] ?? syscall} ${dest}: ${fault.words}` }
}

/** Looks a path up. The system opens a folder, and says only with the first byte that it is one, without its name. */
export async function requireNoFolder(path: string): Promise<Stats> {
  const found = await stat(path)
  if (found.isDirectory()) throw new UsageProblem(`read ${path}: ${isFolder.words}`, { hint: isFolder.hint })
  return found
}

/** For a file that is replaced when the work is done: what cannot be written is noticed before it. */
export async function requireReplaceable(path: string): Promise<void> {
  const handle = await open(path, 'r+').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  await handle?.close()
  await access(dirname(path), constants.W_OK)
}
