import { link, mkdir, readFile, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { UsageProblem } from '../errors.ts'
import { isAlive } from './alive.ts'

const TRIES = 200
const PAUSE_MS = 25
/** Taking over takes milliseconds: a takeover this old was itself killed. */
const TAKEOVER_MAX_MS = 10_000

/** Another process of ours works in the folder. */
export class FolderInUse extends UsageProblem {}

/** One start per folder. The lock of a process that was killed is taken over, by one even when several try at once. */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const file = join(folder, 'lock')
  const own = await identityOf(process.pid)
  for (let tries = 0; tries < TRIES; tries++) {
    if (await take(folder, own)) return () => rm(file, { force: true })
    const holder = await readFile(file, 'utf8').catch(() => '')
    if (holder !== '' && (await isHeld(holder))) {
      throw new FolderInUse(
        `lock data folder ${folder}: vitalsync runs here already (process ${holder.split(' ')[0]})`,
        {
          hint: 'Use the one that runs, stop it with Ctrl-C, or choose another folder with VITALSYNC_DATA.',
        },
      )
    }
    await removeDead(folder)
  }
  throw new UsageProblem(`lock data folder ${folder}: another start keeps taking it`, { hint: 'Start once.' })
}

/** The process of ours, other than this one, that works in the folder now. */
export async function holderOf(folder: string): Promise<number | undefined> {
  const holder = await readFile(join(folder, 'lock'), 'utf8').catch(() => '')
  const pid = Number(holder.split(' ')[0])
  return pid !== process.pid && holder !== '' && (await isHeld(holder)) ? pid : undefined
}

/** A link appears with its content or not at all: nobody ever reads a lock that does not yet say whose it is. */
async function take(folder: string, own: string): Promise<boolean> {
  const draft = join(folder, `lock.${process.pid}`)
  try {
    await writeFile(draft, own)
    await link(draft, join(folder, 'lock'))
    return true
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return false
    throw new UsageProblem(`lock data folder ${folder}: ${message}`, {
      hint:
        code === 'ENOSPC'
          ? 'The disk is full: free some space (a fresh data folder needs about 100 MB) and start again.'
          : 'Run as the user the folder belongs to, or choose another one with VITALSYNC_DATA.',
      cause: error,
    })
  } finally {
    await rm(draft, { force: true }).catch(() => undefined) // refused for the same reason as the writing
  }
}

/** Only who holds `lock.takeover` may remove a lock that is not its own, and looks again before it does. */
async function removeDead(folder: string): Promise<void> {
  const takeover = join(folder, 'lock.takeover')
  const mine = await mkdir(takeover).then(
    () => true,
    () => false,
  )
  if (!mine) {
    const made = await stat(takeover).catch(() => undefined)
    if (made && Date.now() - made.mtimeMs > TAKEOVER_MAX_MS) await rmdir(takeover).catch(() => undefined)
    await wait(PAUSE_MS)
    return
  }
  const file = join(folder, 'lock')
  const holder = await readFile(file, 'utf8').catch(() => '')
  if (!(await isHeld(holder))) await rm(file, { force: true })
  await rmdir(takeover)
}

async function isHeld(holder: string): Promise<boolean> {
  const pid = Number(holder.split(' ')[0])
  return Number.isInteger(pid) && pid > 0 && isAlive(pid) && (await identityOf(pid)) === holder.trim()
}

/** A number left in a file may since belong to another process: the instant it was started tells them apart. */
async function identityOf(pid: number): Promise<string> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // The program's name stands in brackets and may hold anything; the 20th field after it is the start time.
  const startedAt = status.slice(status.lastIndexOf(')') + 2).split(' ')[19]
  return startedAt === undefined ? String(pid) : `${pid} ${startedAt}`
}
