import { type Entry, openPromise } from 'yauzl'
import { UsageProblem } from '../errors.ts'
import type { ExportFile } from './formats/export-format.ts'

/** A zip of more entries, or that unpacks to more, is no export: the largest known are a few GB in some thousand files. */
const ENTRIES_MAX = 100_000
const UNPACKED_BYTES_MAX = 64 * 1024 ** 3
/** Above this size, a zip that grows by more when unpacked is a bomb: exports in XML and JSON grow by up to 40. */
const BOMB_BYTES_MIN = 128 * 1024 ** 2
const GROWTH_MAX = 200

const FILE_TYPE_MASK = 0o170000
const SYMBOLIC_LINK = 0o120000
const ENCRYPTED_FLAG = 1

type ZipEntries = { readonly files: readonly ExportFile[]; close(): void }

/**
 * The entries of a zip as files that can be streamed one after the other; nothing is unpacked to disk. The whole zip is
 * refused for a path that leads out of it, a link, an encrypted entry, and for a size that no export has.
 */
export async function openZipEntries(path: string, sizeBytes: number): Promise<ZipEntries> {
  const refuse = (why: string): never => {
    throw new UsageProblem(`read ${path}: ${why}`, { hint: 'No app exports such a zip; download it again.' })
  }
  const zip = await openPromise(path, { autoClose: false, strictFileNames: true, validateEntrySizes: true }).catch(
    (cause: Error) => refuse(`it is no whole zip: ${cause.message}`),
  )
  const files: ExportFile[] = []
  try {
    if (zip.entryCount > ENTRIES_MAX) refuse(`it has more than ${ENTRIES_MAX} entries`)
    let unpackedBytes = 0
    for await (const entry of zip.eachEntry()) {
      const why = refusalOf(entry)
      if (why !== undefined) refuse(why)
      unpackedBytes += entry.uncompressedSize
      if (unpackedBytes > UNPACKED_BYTES_MAX || isBomb(unpackedBytes, sizeBytes)) refuse('it unpacks to far too much')
      if (entry.fileName.endsWith('/')) continue
      const open = async () => zip.openReadStreamPromise(entry)
      files.push({ name: entry.fileName, sizeBytes: entry.uncompressedSize, open })
    }
  } catch (error) {
    zip.close()
    if (error instanceof UsageProblem) throw error
    refuse(error instanceof Error ? error.message : 'its list of entries is broken')
  }
  return { files, close: () => zip.close() }
}

const isBomb = (unpackedBytes: number, packedBytes: number): boolean =>
  unpackedBytes > BOMB_BYTES_MIN && unpackedBytes > packedBytes * GROWTH_MAX

function refusalOf(entry: Entry): string | undefined {
  if ((entry.generalPurposeBitFlag & ENCRYPTED_FLAG) !== 0) return 'it is encrypted'
  // The upper half of the attributes holds the mode of a Unix file.
  if (((entry.externalFileAttributes >>> 16) & FILE_TYPE_MASK) === SYMBOLIC_LINK) return 'it holds a symbolic link'
  if (isBomb(entry.uncompressedSize, entry.compressedSize)) return 'an entry of it unpacks to far too much'
  return undefined
}
