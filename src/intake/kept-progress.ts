import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { requireNoFolder } from '../base/files/named-files.ts'
import type { ImportProgress, Imports } from '../pipeline/warehouse/outbox/import-progress.ts'

type Progress = Omit<ImportProgress, 'tail'>

/** Where an import begins, and the progress that it keeps, so that it can be stopped and resumed. */
type KeptProgress = {
  readonly begin: Progress
  readonly isResumed: boolean
  save(progress: Progress): Promise<void>
  finish(): Promise<void>
}

/** Begins at the first row, and keeps nothing: for a rehearsal, and for standard input, which has no name. */
export const noProgress: KeptProgress = {
  begin: { position: 0, line: 0, rejectsBytes: 0, read: 0, accepted: 0, duplicate: 0, rejected: 0 },
  isResumed: false,
  save: async () => undefined,
  finish: async () => undefined,
}

type ProgressOptions = {
  readonly imports: Imports
  readonly stream: string
  readonly identity: Buffer
  /** Reads from the beginning, however far an earlier import came. */
  readonly again: boolean
  /** A digest of what lies before a position. An import resumes only where it is the same. */
  tailOf(position: number): Promise<Buffer>
}

export async function openProgress(options: ProgressOptions): Promise<KeptProgress> {
  const { imports, stream, identity, again, tailOf } = options
  const key = { stream, identity }
  const unfinished = again ? undefined : await imports.findUnfinished(key)
  const isResumed = unfinished?.tail.equals(await tailOf(unfinished.position)) === true
  return {
    begin: isResumed ? unfinished : noProgress.begin,
    isResumed,
    save: async (progress) => imports.save(key, { ...progress, tail: await tailOf(progress.position) }),
    finish: () => imports.finish(key),
  }
}

type ResumableFile = KeptProgress & { readonly sizeBytes: number | undefined; close(): Promise<void> }

type FileOptions = Pick<ProgressOptions, 'imports' | 'stream' | 'again'> & {
  /** The form in which the file is read: the same file read in another form is another import. */
  readonly readAs: readonly unknown[]
}

const HEAD_BYTES = 65_536
const TAIL_BYTES = 4096

/** A file is recognised by its first bytes, and may be resumed only where the bytes before the position are the same. */
export async function openResumableFile(file: string, { readAs, ...options }: FileOptions): Promise<ResumableFile> {
  if (file === '-') return { ...noProgress, sizeBytes: undefined, close: async () => undefined }
  await requireNoFolder(file)
  const handle = await open(file)
  try {
    const { size } = await handle.stat()
    const identity = await digestOfPart(handle, { from: 0, to: HEAD_BYTES, salt: JSON.stringify(readAs) })
    const tailOf = (position: number) =>
      digestOfPart(handle, { from: Math.max(0, position - TAIL_BYTES), to: position, salt: '' })
    const progress = await openProgress({ ...options, identity, tailOf })
    return { ...progress, sizeBytes: size, close: () => handle.close() }
  } catch (error) {
    await handle.close()
    throw error
  }
}

async function digestOfPart(handle: FileHandle, { from, to, salt }: { from: number; to: number; salt: string }) {
  const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(to - from), position: from })
  return createHash('sha256').update(salt).update(buffer.subarray(0, bytesRead)).digest()
}
