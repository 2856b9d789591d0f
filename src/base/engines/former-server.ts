import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isProcessAlive } from '../files/folder-lock.ts'
import { sleep } from '../sleep.ts'

const POLL_EVERY_MS = 25

/** Shuts down a server that outlived its killed parent process, so that its folder can be used again. */
export async function stopFormerServer(dataFolder: string, timeoutMs: number): Promise<void> {
  const file = join(dataFolder, 'postmaster.pid')
  const text = await readFile(file, 'utf8').catch(() => '')
  const pid = Number(text.split('\n')[0])
  if (!Number.isInteger(pid) || pid <= 1) return
  // Postgres takes any live process of its user, and a zombie (a process that has ended, and whose parent has not read its exit
  // status), for a live server. It ignores the number of its own parent process, so that number is written instead. The other
  // lines stay: by them Postgres finds sessions of the former server that still use the data.
  if (!isProcessAlive(pid) || !(await isServerOf(dataFolder, pid)))
    return writeFile(file, text.replace(/^\d+/, String(process.pid)))
  process.kill(pid, 'SIGINT')
  for (const deadlineAt = Date.now() + timeoutMs; Date.now() < deadlineAt && isProcessAlive(pid); ) {
    await sleep(POLL_EVERY_MS)
  }
}

async function isServerOf(dataFolder: string, pid: number): Promise<boolean> {
  const commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => undefined)
  return commandLine?.includes(`\0-D\0${dataFolder}\0`) ?? process.platform !== 'linux'
}
