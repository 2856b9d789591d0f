import { open, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { lockFolder } from '../../../src/base/files/folder-lock.ts'

/**
 * Takes the lock of a folder a number of times, and leaves the lock of a dead process behind each time. Prints how often another
 * process had the folder at the same time.
 */
const [folder = '', times = ''] = process.argv.slice(2)
let shared = 0
for (let taken = 0; taken < Number(times); ) {
  const isMine = await lockFolder(folder).then(
    () => true,
    () => false,
  )
  if (!isMine) continue
  taken += 1
  const inside = await open(join(folder, 'inside'), 'wx').catch(() => undefined)
  if (!inside) shared += 1
  await inside?.close()
  await rm(join(folder, 'inside'), { force: true })
  const dead = join(folder, `dead.${process.pid}`)
  await writeFile(dead, '999999999 1')
  await rename(dead, join(folder, 'lock'))
}
process.stdout.write(String(shared))
