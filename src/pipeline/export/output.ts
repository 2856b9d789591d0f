import { createHash, type Hash } from 'node:crypto'
import { type FileHandle, rename, rm, stat } from 'node:fs/promises'
import { UsageProblem } from '../../base/errors.ts'
import { requireReplaceable } from '../../base/files/named-files.ts'
import { openPrivateFile, writeWhole } from '../../base/files/private-file.ts'
import { formatNumber, printableText } from '../../base/text/readable.ts'

/** The beginning of an output: its length, and its SHA-256. */
export type WrittenPart = { readonly bytes: number; readonly sha256: string }

export type ExportOutput = {
  /** Whether a later export can go on behind what this one wrote. Nobody knows how much of a pipe was read. */
  readonly isResumable: boolean
  write(chunk: string | Uint8Array): Promise<void>
  /** Writes what there is to the disk, and returns its length and digest. */
  flush(): Promise<WrittenPart>
  close(options: { isComplete: boolean }): Promise<void>
}

export const nothingWritten: WrittenPart = { bytes: 0, sha256: '' }

export function openPipeOutput(): ExportOutput {
  return {
    isResumable: false,
    flush: async () => nothingWritten,
    async write(chunk) {
      if (chunk.length === 0) return
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
  /** The beginning of an existing file that stays; nothing of a file that is invalid until complete. */
  readonly kept: WrittenPart
  /** Written to `<path>.partial` and renamed when it is complete: for a format that is invalid before its end. */
  readonly isInvalidUntilComplete: boolean
}

export async function openFileOutput(path: string, options: FileOptions): Promise<ExportOutput> {
  const { isInvalidUntilComplete } = options
  const kept = isInvalidUntilComplete ? nothingWritten : options.kept
  const written = isInvalidUntilComplete ? `${path}.partial` : path
  if (isInvalidUntilComplete) await requireReplaceable(path)
  if (kept.bytes > 0) await requireLength(path, kept.bytes)
  const handle = await openPrivateFile(written, 'Choose another file with --output.')
  const hash = createHash('sha256')
  if (kept.bytes > 0) await requireBeginning(path, { handle, hash, kept })
  await handle.truncate(kept.bytes)
  const { ino } = await handle.stat()
  let { bytes } = kept
  const requireUntouched = async () => {
    const found = await statOrNone(written)
    if (found.ino === ino && found.size === bytes) return
    throw new UsageProblem(`write ${written}: something else wrote to it, or took it away`, {
      hint: 'Let the other process end, or choose another file with --output.',
    })
  }
  return {
    isResumable: !isInvalidUntilComplete,
    async flush() {
      await handle.sync()
      return { bytes, sha256: hash.copy().digest('hex') }
    },
    async write(chunk) {
      const buffer = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
      await requireUntouched()
      await writeWhole(handle, written, buffer, bytes)
      bytes += buffer.length
      hash.update(buffer)
    },
    async close({ isComplete }) {
      if (isComplete) await handle.sync()
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

const hint = 'Give --output the file of that export, or take the file of --state away to begin from the beginning.'

/** The rows of the stopped export may be in another file. */
async function requireLength(path: string, keptBytes: number): Promise<void> {
  const { size } = await statOrNone(path)
  if (size >= keptBytes) return
  const [written, found] = [keptBytes, size].map(formatNumber)
  throw new UsageProblem(`write ${path}: the stopped export had written ${written} bytes, and it has ${found}`, {
    hint,
  })
}

type Beginning = { readonly handle: FileHandle; readonly hash: Hash; readonly kept: WrittenPart }

/** The file may be of another export, or a loss of power may have taken a part of it. The hash has read it then. */
async function requireBeginning(path: string, { handle, hash, kept: { bytes, sha256 } }: Beginning): Promise<void> {
  for await (const chunk of handle.createReadStream({ start: 0, end: bytes - 1, autoClose: false })) hash.update(chunk)
  if (hash.copy().digest('hex') === sha256) return
  await handle.close()
  const words = `its first ${formatNumber(bytes)} bytes are not those that the stopped export had written`
  throw new UsageProblem(`write ${path}: ${words}`, { hint })
}
