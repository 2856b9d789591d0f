import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { UsageProblem } from '../errors.ts'

const { O_CREAT, O_NOFOLLOW, O_RDWR } = constants
const OWNER_ONLY = 0o600

/**
 * Opens a file for health data: only its owner may read it, and a link is not followed. An existing file is opened as it
 * is; the file of another user, and whatever is no file, is refused. Throws a UsageProblem with this hint.
 */
export async function openPrivateFile(path: string, hint: string): Promise<FileHandle> {
  const refuse = (reason: string, cause?: unknown): never => {
    throw new UsageProblem(`write ${path}: ${reason}`, { hint, cause })
  }
  const handle = await open(path, O_RDWR | O_CREAT | O_NOFOLLOW, OWNER_ONLY).catch((cause: NodeJS.ErrnoException) =>
    refuse(cause.code === 'ELOOP' ? 'it is a symbolic link' : cause.message, cause),
  )
  try {
    const found = await handle.stat()
    if (!found.isFile()) refuse('it is no ordinary file')
    if (found.uid !== process.getuid?.()) refuse('it belongs to another user')
    if ((found.mode & 0o077) !== 0) await handle.chmod(OWNER_ONLY)
    return handle
  } catch (error) {
    await handle.close()
    throw error
  }
}
