import { createReadStream } from 'node:fs'
import type { externalIdSchema } from '../base/contract/authentication.ts'
import { textSchema } from '../base/contract/text.ts'
import { UsageProblem } from '../base/errors.ts'
import { requireNoFolder } from '../base/files/named-files.ts'
import { closestWord } from '../base/text/closest-word.ts'
import { compressed, type FileFormat, fileFormatOf, readEntries } from './file-entries.ts'

/** The file's bytes from `position` on; `-` is standard input. */
export async function readBytesFrom(file: string, position: number): Promise<AsyncIterable<Buffer>> {
  if (file === '-') return uncompressed('standard input', process.stdin)
  const { size } = await requireNoFolder(file)
  const bytes = readUpTo(file, { position, size })
  return position === 0 ? uncompressed(file, bytes) : bytes
}

/** The bytes by which each gzip file begins. No text begins so. */
const GZIP_MAGIC = Buffer.from([0x1f, 0x8b])

/** The same bytes; throws where they are those of gzip. */
async function* uncompressed(file: string, bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let isFirst = true
  for await (const chunk of bytes) {
    if (isFirst && chunk.subarray(0, GZIP_MAGIC.length).equals(GZIP_MAGIC)) throw compressed(file)
    isFirst = false
    yield chunk
  }
}

/** Throws when the file ends before `size`: lines that were cut off while it was read would not be missed. */
export async function* readUpTo(
  file: string,
  { position, size }: { readonly position: number; readonly size: number },
): AsyncGenerator<Buffer> {
  let reached = position
  for await (const chunk of createReadStream(file, { start: position, highWaterMark: 256 * 1024 })) {
    reached += chunk.length
    yield chunk
  }
  if (reached < size)
    throw new UsageProblem(`read ${file}: it became shorter while it was read`, {
      hint: 'Give the same command again when nothing writes to the file.',
    })
}

/** The externalIds of a file, NDJSON or CSV, in its order; a row without one is given to `onFault`. */
export async function* readExternalIds(
  file: string,
  options: {
    format: FileFormat | undefined
    schema: typeof externalIdSchema
    onFault: (line: number, reason: string, text: string) => Promise<void>
    /** Receives the names of columns that are not read; a name that looks like one of ours is a fault. Absent: they are of no interest. */
    unread?: Set<string>
  },
): AsyncGenerator<NamedPerson> {
  const format = await fileFormatOf(file, options.format)
  const bytes = await readBytesFrom(file, 0)
  const misspeltAmong = (names: readonly string[]) =>
    options.unread ? misspeltField(names, options.unread) : undefined
  const checkColumns = (columns: readonly string[]) => {
    const found = misspeltAmong(columns)
    if (found === undefined) return
    throw new UsageProblem(`read people: there is no column ${found.name}`, {
      hint: `Did you mean ${found.meant}? The columns that are read: ${personFields.join(', ')}.`,
    })
  }
  for await (const entry of readEntries({ bytes, format, begin: { position: 0, line: 0 }, checkColumns })) {
    if ('fault' in entry) await options.onFault(entry.line, entry.fault, entry.text)
    else {
      const misspelt = format === 'csv' ? undefined : misspeltAmong(Object.keys(entry.fields))
      const { data, error } = options.schema.safeParse(entry.fields['externalId'])
      const cohort = cohortSchema.safeParse(entry.fields['cohort'] || undefined) // an empty cell
      const reject = (reason: string) => options.onFault(entry.line, reason, JSON.stringify(entry.fields))
      if (misspelt) await reject(`${misspelt.name}: is no field of a person; ${misspelt.meant} is meant`)
      else if (data === undefined) await reject(`externalId ${error?.issues[0]?.message}`)
      else if (cohort.error) await reject(`cohort ${cohort.error.issues[0]?.message}`)
      else yield { externalId: data, ...(cohort.data ? { cohort: cohort.data } : {}) }
    }
  }
}

/** The columns of a file of people. */
export const personFields = ['externalId', 'cohort'] as const

/** A report names this many columns that are not read. */
const UNREAD_NAMED_MAX = 20

/** The first name that looks like one of ours. Collects the other names that are not read. */
function misspeltField(names: readonly string[], unread: Set<string>): { name: string; meant: string } | undefined {
  for (const name of names) {
    if (personFields.some((field) => field === name)) continue
    const meant =
      personFields.find((field) => field.toLowerCase() === name.toLowerCase()) ?? closestWord(name, personFields)
    if (meant !== undefined && !names.includes(meant)) return { name, meant }
    if (unread.size < UNREAD_NAMED_MAX) unread.add(name)
  }
  return undefined
}

/** A person of a file, with the group of the study that the file names. */
export type NamedPerson = { readonly externalId: string; readonly cohort?: string }

const cohortSchema = textSchema(100).optional()

const machineFaultCodes: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EMFILE', 'ENFILE'])

/** A full disk, or too many open files: the export is whole, and the import is to be tried again. */
export const isOfMachine = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && machineFaultCodes.has(error.code)
