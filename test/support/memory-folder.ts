import { mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { chmod, rm } from 'node:fs/promises'
import { freemem } from 'node:os'
import { join } from 'node:path'
import { isProcessAlive } from '../../src/base/files/folder-lock.ts'

const home = '/dev/shm'
const prefix = 'vitalsync-tests-'
const GB = 1024 ** 3

/**
 * A folder in memory for all files that tests make, where there is room; otherwise they lie below the usual TMPDIR. Each test makes a
 * database and drops it: ext4 looks for a free inode among all that were dropped within minutes, which was most of the
 * system's time.
 */
export async function openMemoryFolder(): Promise<{ close(): Promise<void> } | undefined> {
  if (process.platform !== 'linux' || process.env['TMPDIR'] || !hasRoom()) return undefined
  forgetTheKilled()
  const folder = mkdtempSync(join(home, `${prefix}${process.pid}-`))
  await chmod(folder, 0o755) // Postgres, which does not run as root, must be able to enter
  process.env['TMPDIR'] = folder
  return {
    async close() {
      delete process.env['TMPDIR']
      await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** Less than a third of this was seen in use. A container has 64 MB there, or may run no program. */
function hasRoom(): boolean {
  try {
    const mount = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .findLast((line) => line.split(' ')[1] === home)
    if (!mount || /\bnoexec\b/.test(mount)) return false
    const { bavail, bsize } = statfsSync(home)
    return bavail * bsize > 6 * GB && freemem() > 8 * GB
  } catch {
    return false
  }
}

/** A run that was killed left its files, which are memory. */
function forgetTheKilled(): void {
  for (const name of readdirSync(home).filter((entry) => entry.startsWith(prefix))) {
    const pid = Number(name.slice(prefix.length).split('-')[0])
    if (!isProcessAlive(pid)) rmSync(join(home, name), { recursive: true, force: true })
  }
}
