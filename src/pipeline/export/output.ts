import { rename, rm, stat } from 'node:fs/promises'
import { UsageProblem } from '../../base/errors.ts'
import { requireReplaceable } from '../../base/files/named-files.ts'
import { openPrivateFile, writeWhole } from '../../base/files/private-file.ts'
import { formatNumber, printableText } from '../../base/text/readable.ts'

export type ExportOutput = {
  /** Whether a later export can go on behind what this one wrote. Nobody knows how much of a pipe was read. */
  readonly isResumable: boolean
  write(chunk: string | Uint8Array): Promise<void>
  /** The length of the output so far. */
  bytes(): number
  close(options: { isComplete: boolean }): Promise<void>
}

export function openPipeOutput(): ExportOutput {
  let bytes = 0
  return {
    isResumable: false,
    bytes: () => bytes,
    async write(chunk) {
      if (chunk.length === 0) return
      bytes += Buffer.byteLength(chunk)
      // Backpressure: a slow reader slows the export down, and the memory stays bounded.
      const shown = process.stdout.isTTY && typeof chunk === 'string' ? printableText(chunk) : chunk
      await new Promise<void>((resolve, reject) => {
        process.stdout.write(shown, (error) => (error ? reject(error) : resolve()))
      })
    },
    close: async () => undefined,
  }
}

type FileOptions = {
  /** The first bytes of an existing file that stay; 0 for a file that is invalid until complete. */
  readonly keptBytes: number
  /** Written to `<path>.partial` and renamed when it is complete: for a format that is invalid before its end. */
  readonly isInvalidUntilComplete: boolean
}

export async function openFileOutput(path: string, options: FileOptions): Promise<ExportOutput> {
  const { isInvalidUntilComplete } = options
  const keptBytes = isInvalidUntilComplete ? 0 : options.keptBytes
  const written = isInvalidUntilComplete ? `${path}.partial` : path
  if (isInvalidUntilComplete) await requireReplaceable(path)
  if (keptBytes > 0) await requireLength(path, keptBytes)
  const handle = await openPrivateFile(written, 'Choose another file with --output.')
  await handle.truncate(keptBytes)
  const { ino } = await handle.stat()
  let bytes = keptBytes
  const requireUntouched = async () => {
    const found = await statOrNone(written)
    if (found.ino === ino && found.size === bytes) return
    throw new UsageProblem(`write ${written}: something else wrote to it, or took it away`, {
      hint: 'Let the other process end, or choose another file with --output.',
    })
  }
  return {
    isResumable: !isInvalidUntilComplete,
    bytes: () => bytes,
    async write(chunk) {
      const buffer = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
      await requireUntouched()
      await writeWhole(handle, written, buffer, bytes)
      bytes += buffer.length
    },
    async close({ isComplete }) {
      await handle.close()
      if (isComplete) await requireUntouched()
      if (written === path) return
      if (isComplete) await rename(written, path)
      else await rm(written, { force: true })
    },
  }
}

const statOrNone = (path: string): Promise<{ readonly size: number; readonly ino: number }> =>
  stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return { size: 0, ino: 0 }
  })

/** The rows of the stopped export may be in another file. */
async function requireLength(path: string, keptBytes: number): Promise<void> {
  const { size } = await statOrNone(path)
  if (size >= keptBytes) return
  const [written, found] = [keptBytes, size].map(formatNumber)
  throw new UsageProblem(`write ${path}: the stopped export had written ${written} bytes, and it has ${found}`, {
    hint: 'Give --output the file of that export, or take the file of --state away to begin from the beginning.',
  })
}
