import { lstat, mkdtemp, open, readdir, rm } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { UsageProblem } from '../../base/errors.ts'
import { isProcessAlive } from '../../base/files/folder-lock.ts'
import { hexDigestOf } from '../../base/text/digest.ts'
import type { ExportFile } from './export-format.ts'

/** Processes of another machine, or container, that share the temporary folder are not known here. */
const machine = hexDigestOf(hostname(), 8)
const PREFIX = `vitalsync-import-${machine}-`
const ours = new RegExp(`^${PREFIX}(\\d+)-`)

/**
 * Copies a file of an export into a private folder, for what cannot be read as a stream. `remove` takes it away; it may be called as
 * soon as the copy is open. A process that is killed leaves its copy: `removeLeftCopies` of the next import takes it away.
 */
export async function copyPrivately(file: ExportFile, bytesMax: number) {
  const folder = await mkdtemp(join(tmpdir(), `${PREFIX}${process.pid}-`))
  const remove = () => rm(folder, { recursive: true, force: true })
  const path = join(folder, 'copy')
  try {
    await copyTo(path, file, bytesMax)
    return { path, remove }
  } catch (error) {
    await remove()
    throw error
  }
}

async function copyTo(path: string, file: ExportFile, bytesMax: number): Promise<void> {
  const handle = await open(path, 'wx', 0o600)
  try {
    let length = 0
    for await (const chunk of await file.open()) {
      length += chunk.length
      if (length > bytesMax)
        throw new UsageProblem(`read ${file.name}: it is larger than ${Math.round(bytesMax / 1024 ** 2)} MiB`)
      await handle.writeFile(chunk) // all of it; `write` takes a part where the disk becomes full
    }
  } finally {
    await handle.close()
  }
}

/** Removes the copies of this user whose processes are gone. */
export async function removeLeftCopies(): Promise<void> {
  for (const name of await readdir(tmpdir()).catch(() => [])) {
    const [, pid] = ours.exec(name) ?? []
    if (pid === undefined || isProcessAlive(Number(pid))) continue
    const folder = join(tmpdir(), name)
    const found = await lstat(folder).catch(() => undefined)
    if (found?.isDirectory() && found.uid === process.getuid?.())
      await rm(folder, { recursive: true, force: true }).catch(() => undefined) // the next import tries again
  }
}
