import { readFile, rename } from 'node:fs/promises'
import { z } from 'zod'
import { UsageProblem } from '../../base/errors.ts'
import { requireNoFolder } from '../../base/files/named-files.ts'
import { openPrivateFile } from '../../base/files/private-file.ts'
import { jsonOrUndefined } from '../../base/text/json.ts'
import { nothingWritten, type WrittenPart } from './output.ts'

const bookmarkSchema = z.object({
  /** Only rows that changed after this instant are exported; absent: all rows. */
  since: z.string().optional(),
  /** When the unfinished export began. Absent when no export is unfinished. */
  upto: z.string().optional(),
  /** The last profile id that the unfinished export has written. */
  after: z.string().regex(/^\d+$/).optional(),
})
/** A file that we wrote, or the last line that a Singer target printed. */
const stateSchema = z.object({
  bookmarks: z.record(z.string(), bookmarkSchema),
  bytes: z.int().default(0),
  sha256: z.string().default(''),
})

/** How far the export of one stream has come: a state file and a Singer STATE hold it. */
export type Bookmark = Readonly<z.output<typeof bookmarkSchema>>
export type ExportState = { readonly bookmarks: Readonly<Record<string, Bookmark>> }
/** With the part of the output up to the bookmarks: bytes after it were not finished. */
export type SavedExportState = ExportState & WrittenPart

const noState: SavedExportState = { bookmarks: {}, ...nothingWritten }

/** Without a file, or with an empty file, the export starts from the beginning. */
export async function readExportState(path: string | undefined): Promise<SavedExportState> {
  if (path === undefined) return noState
  const text = await readNamed(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  if (text === undefined || text.trim() === '') return noState
  const saved = stateSchema.safeParse(jsonOrUndefined(text.trim().split('\n').at(-1) ?? ''))
  if (saved.success) return saved.data
  throw new UsageProblem(`read state ${path}: it is no state of an export`, {
    hint: 'Take it away to begin anew, or give the one that the last export wrote.',
  })
}

async function readNamed(path: string): Promise<string> {
  await requireNoFolder(path)
  return readFile(path, 'utf8')
}

/** Replaces the file in one step: a crash leaves the former state or the new one. The export has locked the file. */
export async function saveExportState(path: string, saved: SavedExportState): Promise<void> {
  const handle = await openPrivateFile(`${path}.new`, 'Give a file this user may write with --state.')
  try {
    await handle.truncate()
    await handle.writeFile(`${JSON.stringify(saved)}\n`)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(`${path}.new`, path)
}
