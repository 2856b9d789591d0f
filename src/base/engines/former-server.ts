import { constants } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isProcessAlive } from '../files/folder-lock.ts'
import { sleep } from '../sleep.ts'

const POLL_EVERY_MS = 25

/** As root, the folder is that of Postgres's user, who may have put a link to a file of root into it, or a pipe. */
const AS_IT_IS = constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** Shuts down a server that outlived its killed parent process, so that its folder can be used again. */
export async function stopFormerServer(dataFolder: string, timeoutMs: number): Promise<void> {
  const file = await open(join(dataFolder, 'postmaster.pid'), AS_IT_IS).catch(() => undefined)
  if (file === undefined) return
  try {
    const text = (await file.stat()).isFile() ? await file.readFile('utf8') : ''
    const pid = Number(text.split('\n')[0])
    if (!Number.isInteger(pid) || pid <= 1) return
    if (isProcessAlive(pid) && (await isServerOf(dataFolder, pid))) return await stopServer(pid, timeoutMs)
    // Postgres takes any live process of its user, and a zombie (a process that has ended, and whose parent has not read its exit
    // status), for a live server. It ignores the number of its own parent process, so that number is written instead. The other
    // lines stay: by them Postgres finds sessions of the former server that still use the data.
    await file.truncate()
    await file.write(text.replace(/^\d+/, String(process.pid)), 0)
  } finally {
    await file.close()
  }
}

async function stopServer(pid: number, timeoutMs: number): Promise<void> {
  process.kill(pid, 'SIGINT')
  for (const deadlineAt = Date.now() + timeoutMs; Date.now() < deadlineAt && isProcessAlive(pid); ) {
    await sleep(POLL_EVERY_MS)
  }
}

async function isServerOf(dataFolder: string, pid: number): Promise<boolean> {
  const commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => undefined)
  return commandLine?.includes(`\0-D\0${dataFolder}\0`) ?? process.platform !== 'linux'
}
