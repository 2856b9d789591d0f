import type { Stats } from 'node:fs'
import { lstat, mkdir, stat } from 'node:fs/promises'
import { UsageProblem } from '../errors.ts'
import { shellPath } from '../text/readable.ts'

export const dataFolderHint =
  'Run as the user the data folder belongs to, or choose another folder with VITALSYNC_DATA.'

const ROOT_ID = 0

/** Makes the folder where it is missing. Only its owner may write to a new one; as root Postgres runs as nobody, who must enter. */
export async function makeDataFolder(folder: string, hint = dataFolderHint): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o755 }).catch((cause: Error) => {
    throw new UsageProblem(`make data folder ${folder}: ${cause.message}`, { hint, cause })
  })
  await requireOwnFolder(folder)
}

/**
 * Refuses a folder that another user made, links to, or may write to: it would name a Postgres of that user, or hold secrets that
 * the user knows. A missing folder is no fault.
 */
export async function requireOwnFolder(folder: string): Promise<void> {
  const [link, found] = await Promise.all([lstat, stat].map((look) => look(folder).catch(() => undefined)))
  const uid = process.getuid?.()
  if (!link || !found || uid === undefined) return
  const reason = accessOfOthers({ link, found }, [uid])
  if (reason === undefined) return
  const hints = {
    'it belongs to another user': dataFolderHint,
    'other users may write to it': `Choose a folder inside it with VITALSYNC_DATA, or take the right away: chmod o-w ${shellPath(folder)}`,
  }
  throw new UsageProblem(`use data folder ${folder}: ${reason}`, { hint: hints[reason] })
}

type Looked = { readonly link: Pick<Stats, 'uid'>; readonly found: Pick<Stats, 'uid' | 'mode'> }

/**
 * The reason why a user beside root and the trusted ones may decide what a path holds; undefined where none may. `link`: the path
 * itself; `found`: what it leads to.
 */
export function accessOfOthers({ link, found }: Looked, trusted: readonly number[]) {
  if ([link, found].some(({ uid }) => uid !== ROOT_ID && !trusted.includes(uid))) return 'it belongs to another user'
  return mayOthersWrite(found.mode) ? 'other users may write to it' : undefined
}

export const mayOthersWrite = (mode: number): boolean => (mode & 0o002) !== 0
