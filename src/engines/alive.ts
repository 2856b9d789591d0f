import { readFileSync } from 'node:fs'

/** Whether a process still runs. One that ended, but whose parent has not yet taken note of it, does not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !isUnburied(pid)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Its number goes on answering signals, which is all that systems without /proc let us see. */
function isUnburied(pid: number): boolean {
  if (process.platform !== 'linux') return false
  try {
    return /\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return true // gone between the two looks
  }
}
