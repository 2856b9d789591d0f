import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, link, open, rename, rm, writeFile } from 'node:fs/promises'
import { UsageProblem } from '../errors.ts'

const { O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR } = constants
const OWNER_ONLY = 0o600
/** Secrets, addresses and ports are small. */
const TEXT_BYTES_MAX = 65_536

/**
 * Opens a file for health data: only its owner may read it, and a link is not followed. An existing file is opened as it
 * is; the file of another user, and whatever is no file, is refused. Throws a UsageProblem with this hint.
 */
export const openPrivateFile = (path: string, hint: string): Promise<FileHandle> =>
  openChecked(path, { flags: O_RDWR | O_CREAT, verb: 'write', hint })

/**
 * Reads the secret that a file keeps; draws and keeps one where there is no file. Several starts at once get the same secret. The
 * conditions are those of `openPrivateFile`.
 */
export async function readOrDrawSecret(path: string, draw: () => string, hint: string): Promise<string> {
  const kept = await readPrivateFile(path, hint)
  if (kept === undefined)
    await writeOnce(path, draw()).catch((cause: Error) => {
      throw new UsageProblem(`write ${path}: ${cause.message}`, { hint, cause })
    })
  const secret = kept ?? (await readPrivateFile(path, hint)) ?? ''
  if (secret.trim() === '') throw refusal(path, reading(hint), 'it is empty')
  return secret
}

/** The text of a file that only its owner may read, under the conditions of `openPrivateFile`. Undefined where there is none. */
export const readPrivateFile = (path: string, hint: string): Promise<string | undefined> =>
  readWhole(path, reading(hint), openChecked)

/** The text of a file of any user. A link is not followed, and a pipe not waited for. Undefined where there is no file. */
export const readOrdinaryFile = (path: string, hint: string): Promise<string | undefined> =>
  readWhole(path, reading(hint), openOrdinary)

// Without O_NONBLOCK a named pipe would be waited for.
const reading = (hint: string): Opening => ({ flags: O_RDONLY | O_NONBLOCK, verb: 'read', hint })

async function readWhole(path: string, opening: Opening, openFile: typeof openOrdinary): Promise<string | undefined> {
  try {
    const handle = await openFile(path, opening)
    try {
      if ((await handle.stat()).size > TEXT_BYTES_MAX) throw refusal(path, opening, 'it is too large')
      return await handle.readFile('utf8')
    } finally {
      await handle.close()
    }
  } catch (error) {
    if (error instanceof UsageProblem && isErrorCode(error.cause, 'ENOENT')) return undefined
    throw error
  }
}

/** Writes all of it, or throws an error with the path: a disk that becomes full takes a part of a write, without an error. */
export async function writeWhole(handle: FileHandle, path: string, bytes: Uint8Array, position: number): Promise<void> {
  for (let from = 0; from < bytes.length; ) {
    const { bytesWritten } = await handle
      .write(bytes, from, bytes.length - from, position + from)
      .catch((error: Error) => {
        throw Object.assign(error, { path })
      })
    from += bytesWritten
  }
}

/** Creates a file with its whole content, which only its owner may read; an existing file stays as it is. */
const writeOnce = (path: string, text: string): Promise<void> =>
  withDraft(path, text, (draft) =>
    link(draft, path).catch((error: unknown) => {
      if (!isErrorCode(error, 'EEXIST')) throw error
    }),
  )

/**
 * Replaces the content of a file that only its owner may read, in one step: a reader sees the former content or the new one. A link at
 * the path is replaced, and not followed.
 */
export const replacePrivateFile = (path: string, text: string): Promise<void> =>
  withDraft(path, text, (draft) => rename(draft, path))

/**
 * Writes a new file beside `path`, and removes it after `use`. Nobody knows its name before, so no other user who may write to the folder
 * can leave a link under it.
 */
export async function withDraft<T>(path: string, text: string, use: (draft: string) => Promise<T>): Promise<T> {
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  try {
    // On the disk before it has its name: after a loss of power an empty file would stand for a secret that opens a database.
    await writeFile(draft, text, { mode: OWNER_ONLY, flag: 'wx', flush: true })
    return await use(draft)
  } finally {
    await rm(draft, { force: true }).catch(() => undefined) // fails for the same reason as the write
  }
}

type Opening = { readonly flags: number; readonly verb: 'read' | 'write'; readonly hint: string }

async function openChecked(path: string, opening: Opening): Promise<FileHandle> {
  const handle = await openOrdinary(path, opening)
  try {
    const { uid, mode } = await handle.stat()
    if (uid !== process.getuid?.()) throw refusal(path, opening, 'it belongs to another user')
    if ((mode & 0o077) !== 0) await handle.chmod(OWNER_ONLY)
    return handle
  } catch (error) {
    await handle.close()
    throw error
  }
}

async function openOrdinary(path: string, opening: Opening): Promise<FileHandle> {
  const handle = await open(path, opening.flags | O_NOFOLLOW, OWNER_ONLY).catch((cause: NodeJS.ErrnoException) => {
    throw refusal(path, opening, cause.code === 'ELOOP' ? 'it is a symbolic link' : cause.message, cause)
  })
  if ((await handle.stat()).isFile()) return handle
  await handle.close()
  throw refusal(path, opening, 'it is no ordinary file')
}

const refusal = (path: string, { verb, hint }: Opening, reason: string, cause?: unknown) =>
  new UsageProblem(`${verb} ${path}: ${reason}`, { hint, cause })

const isErrorCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code
