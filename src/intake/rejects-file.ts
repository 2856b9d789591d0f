import { type FileHandle, open } from 'node:fs/promises'
import { UsageProblem } from '../errors.ts'
import type { RejectedLine } from './import-entries.ts'

export type RejectsFile = {
  write(rejects: readonly RejectedLine[]): Promise<void>
  bytes(): number
  close(): Promise<void>
}

/**
 * One JSON object a line for each rejected line. The file is created with the first rejected line; a resumed import keeps
 * the first `keptBytes` of it, which its progress covers, and cuts off the rest.
 */
export function openRejectsFile(path: string, keptBytes: number): RejectsFile {
  let handle: FileHandle | undefined
  let bytes = keptBytes
  const openOnce = async () => {
    if (handle) return handle
    handle = await open(path, keptBytes > 0 ? 'r+' : 'w').catch((cause: Error) => {
      throw new UsageProblem(`write rejects to ${path}: ${cause.message}`, {
        hint: 'Choose another file with --rejects.',
        cause,
      })
    })
    await handle.truncate(keptBytes)
    return handle
  }
  return {
    bytes: () => bytes,
    async write(rejects) {
      const text = Buffer.from(`${rejects.map((reject) => JSON.stringify(reject)).join('\n')}\n`)
      await (await openOnce()).write(text, 0, text.length, bytes)
      bytes += text.length
    },
    close: async () => handle?.close(),
  }
}
