import type { FileHandle } from 'node:fs/promises'
import { openPrivateFile, writeWhole } from '../base/files/private-file.ts'

/**
 * One JSON object a line for each rejected line or record. The file is created with the first rejected line; a resumed import keeps
 * the first `keptBytes` of it, which its progress covers, and cuts off the rest.
 */
export function openRejectsFile(path: string, keptBytes: number) {
  let handle: FileHandle | undefined
  let bytes = keptBytes
  const openOnce = async () => {
    if (handle) return handle
    handle = await openPrivateFile(path, 'The rejected lines go there: choose another file with --rejects.')
    bytes = Math.min(keptBytes, (await handle.stat()).size) // somebody may have taken the file away
    await handle.truncate(bytes)
    return handle
  }
  return {
    bytes: () => bytes,
    async write(rejects: readonly object[]) {
      const text = Buffer.from(`${rejects.map((reject) => JSON.stringify(reject)).join('\n')}\n`)
      const file = await openOnce()
      await writeWhole(file, path, text, bytes)
      bytes += text.length
    },
    close: async () => handle?.close(),
  }
}
