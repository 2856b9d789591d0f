import { readFileSync } from 'node:fs'
import { link, mkdir, readFile, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { UsageProblem } from '../errors.ts'
import { isFulfilled, sleep } from '../sleep.ts'
import { requireOwnFolder } from './data-folder.ts'
import { readOrdinaryFile, withDraft } from './private-file.ts'

const LOCK_WITHIN_MS = 5000
const LOCK_RETRY_MS = 25
/** A takeover takes milliseconds: a takeover this old belongs to a process that was killed. Longer than anybody tries. */
const TAKEOVER_MAX_MS = 10_000

/** The words of a refusal. */
export type LockWords = {
  /** The noun for the locked path. */
  readonly kind: string
  readonly inUse: string
  readonly inUseHint: string
  /** By it the user chooses another folder or file. */
  readonly setting: string
}

const dataFolder: LockWords = {
  kind: 'data folder',
  inUse: 'vitalsync runs here already',
  inUseHint: 'Use the one that runs, stop it with Ctrl-C, or choose another folder with VITALSYNC_DATA.',
  setting: 'VITALSYNC_DATA',
}

/** Another vitalsync process works in the folder. */
export class FolderInUse extends UsageProblem {}

/**
 * Allows one process per folder. The lock of a killed process is taken over, by exactly one process when several try at once.
 */
export const lockFolder = (folder: string, words = dataFolder, hardLink = link): Promise<() => Promise<void>> =>
  lock({ named: folder, folder, file: lockOf(folder), words, hardLink })

/** Allows one process per file. The lock is a file beside it. */
export const lockFile = (path: string, words: LockWords): Promise<() => Promise<void>> =>
  lock({ named: path, folder: dirname(path), file: `${path}.lock`, words, hardLink: link })

const lockOf = (folder: string) => join(folder, 'lock')

type Locking = {
  /** The path that the user named. */
  readonly named: string
  readonly folder: string
  readonly file: string
  readonly words: LockWords
  readonly hardLink: typeof link
}

async function lock(locking: Locking): Promise<() => Promise<void>> {
  const { named, folder, file, words } = locking
  const identity = await processIdentityOf(process.pid)
  for (const deadlineAt = performance.now() + LOCK_WITHIN_MS; performance.now() < deadlineAt; ) {
    if (await tryLock(locking, identity)) return () => rm(file, { force: true })
    const holder = await readHolder(file, words)
    if (holder !== '' && (await isLockHeld(holder, folder))) {
      throw new FolderInUse(`lock ${words.kind} ${named}: ${words.inUse} (process ${Number.parseInt(holder, 10)})`, {
        hint: words.inUseHint,
      })
    }
    await removeStaleLock(locking)
  }
  throw new UsageProblem(`lock ${words.kind} ${named}: another start keeps taking it`, { hint: 'Start once.' })
}

const ownerHint = ({ setting }: LockWords) =>
  `Run as the user the folder belongs to, or choose another one with ${setting}.`

const readHolder = async (file: string, words: LockWords): Promise<string> =>
  (await readOrdinaryFile(file, ownerHint(words))) ?? ''

/** The id of another vitalsync process that works in the folder now. */
export async function lockHolderOf(folder: string): Promise<number | undefined> {
  await requireOwnFolder(folder)
  const holder = await readHolder(lockOf(folder), dataFolder)
  const pid = Number.parseInt(holder, 10)
  return pid !== process.pid && holder !== '' && (await isLockHeld(holder, folder)) ? pid : undefined
}

/** File systems without hard links (FAT, some network shares and mounts of object storage) say so in one of these ways. */
const noHardLinks = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'])

/**
 * A hard link appears together with its content: no process ever reads a lock file without its owner. Without hard links it may be read
 * before its owner stands in it, and then counts as unowned and removable. Nor does such a file system keep the number of the folder.
 */
async function tryLock({ named, folder, file, words, hardLink }: Locking, identity: string): Promise<boolean> {
  try {
    await withDraft(file, `${identity}\n${await folderIdentityOf(folder)}`, (draft) =>
      hardLink(draft, file).catch(async (error: NodeJS.ErrnoException) => {
        if (!noHardLinks.has(error.code ?? '')) throw error
        await writeFile(file, identity, { flag: 'wx' })
      }),
    )
    return true
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return false
    throw new UsageProblem(`lock ${words.kind} ${named}: ${message}`, {
      hint:
        code === 'ENOSPC'
          ? 'The disk is full: free some space (a fresh data folder needs about 100 MB) and start again.'
          : ownerHint(words),
      cause: error,
    })
  }
}

/** Only the process that holds the folder `….takeover` may remove another process's lock; it checks the lock again first. */
async function removeStaleLock({ folder, file, words }: Locking): Promise<void> {
  const takeover = `${file}.takeover`
  if (!(await isFulfilled(mkdir(takeover)))) {
    if ((await ageMs(file, takeover)) > TAKEOVER_MAX_MS) await rmdir(takeover).catch(() => undefined)
    await sleep(LOCK_RETRY_MS)
    return
  }
  const holder = await readHolder(file, words)
  // Where no lock was read, another start may have made one since: nothing must be removed.
  if (holder !== '' && !(await isLockHeld(holder, folder))) await rm(file, { force: true })
  await rmdir(takeover)
}

/** Both instants are of the file system's clock: on a mounted folder it may differ from the clock of this machine. */
async function ageMs(file: string, path: string): Promise<number> {
  const [now, made] = await withDraft(file, '', (probe) =>
    Promise.all([stat(probe), stat(path).catch(() => undefined)]),
  )
  return made ? now.mtimeMs - made.mtimeMs : 0
}

async function isLockHeld(holder: string, folder: string): Promise<boolean> {
  const [identity = '', lockedFolder] = holder.trim().split('\n')
  const pid = Number(identity.split(' ')[0])
  if (!Number.isInteger(pid) || pid <= 0 || !isProcessAlive(pid)) return false
  if (lockedFolder !== undefined && lockedFolder !== (await folderIdentityOf(folder))) return false
  return (await processIdentityOf(pid)) === identity
}

/** The copy of a folder has its lock too. By it a command would work on the data of the original. */
const folderIdentityOf = async (folder: string): Promise<string> => String((await stat(folder)).ino)

/** A process id may be used again by a later process: the start time distinguishes the two. */
async function processIdentityOf(pid: number): Promise<string> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // The program's name stands in brackets and may contain brackets; the 20th field after it is the start time.
  const startedAt = status.slice(status.lastIndexOf(')') + 2).split(' ')[19]
  return startedAt === undefined ? String(pid) : `${pid} ${startedAt}`
}

/** Whether a process runs. A zombie, which has ended and whose parent has not read its exit status, does not run. */
export function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !isZombie(pid)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** A zombie still accepts signals; without /proc it looks like a running process. */
function isZombie(pid: number): boolean {
  if (process.platform !== 'linux') return false
  try {
    return /\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return true // the process ended since the signal was sent
  }
}
