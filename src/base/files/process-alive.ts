import { readFileSync } from 'node:fs'

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
