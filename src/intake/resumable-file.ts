import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import type { ImportProgress, Imports } from '../pipeline/warehouse/outbox/import-progress.ts'
import type { IntakeProgress } from './import-entries.ts'
import { requireFile } from './input-file.ts'

type Begin = IntakeProgress & { readonly rejectsBytes: number }

/** A file whose import can be stopped and resumed. Standard input has no name and is always read from its beginning. */
type ResumableFile = {
  readonly begin: Begin
  readonly isResumed: boolean
  readonly sizeBytes: number | undefined
  save(progress: Begin): Promise<void>
  finish(): Promise<void>
  close(): Promise<void>
}

type ResumableOptions = {
  readonly imports: Imports
  readonly stream: string
  /** The form in which the file is read: the same file read in another form is another import. */
  readonly readAs: readonly unknown[]
  /** Reads from the beginning, however far an earlier import came. */
  readonly again: boolean
}

const firstLine: Begin = { position: 0, line: 0, rejectsBytes: 0, read: 0, accepted: 0, duplicate: 0, rejected: 0 }

const HEAD_BYTES = 65_536
const TAIL_BYTES = 4096

/** A file is recognised by its first bytes, and may be resumed only where the bytes before the position are the same. */
export async function openResumableFile(file: string, options: ResumableOptions): Promise<ResumableFile> {
  if (file === '-') return standardInput
  await requireFile(file)
  const handle = await open(file)
  const { imports, stream, readAs, again } = options
  try {
    const identity = await digestOfPart(handle, { from: 0, to: HEAD_BYTES, salt: JSON.stringify(readAs) })
    const key = { stream, identity }
    const unfinished = again ? undefined : await imports.findUnfinished(key)
    const isResumed = unfinished?.tail.equals(await tailOf(handle, unfinished.position)) === true
    const { size } = await handle.stat()
    return {
      begin: isResumed ? unfinished : firstLine,
      isResumed,
      sizeBytes: size,
      save: async (progress) => imports.save(key, { ...progress, tail: await tailOf(handle, progress.position) }),
      finish: () => imports.finish(key),
      close: () => handle.close(),
    }
  } catch (error) {
    await handle.close()
    throw error
  }
}

const standardInput: ResumableFile = {
  begin: firstLine,
  isResumed: false,
  sizeBytes: undefined,
  save: async () => undefined,
  finish: async () => undefined,
  close: async () => undefined,
}

const tailOf = (handle: FileHandle, position: number): Promise<ImportProgress['tail']> =>
  digestOfPart(handle, { from: Math.max(0, position - TAIL_BYTES), to: position, salt: '' })

async function digestOfPart(
  handle: FileHandle,
  { from, to, salt }: { from: number; to: number; salt: string },
): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(to - from), position: from })
  return createHash('sha256').update(salt).update(buffer.subarray(0, bytesRead)).digest()
}
