import { type Entry, openPromise } from 'yauzl'
import { UsageProblem } from '../base/errors.ts'
import type { ExportFile } from './formats/export-format.ts'
import { copyPrivately } from './formats/private-copies.ts'
import { isOfMachine } from './input-file.ts'

/** A zip of more entries, or that unpacks to more, is no export: the largest known are a few GB in some thousand files. */
const ENTRIES_MAX = 100_000
const UNPACKED_BYTES_MAX = 64 * 1024 ** 3
/** Above this size, a zip that grows by more when unpacked is a bomb: exports in XML and JSON grow by up to 40. */
const BOMB_BYTES_MIN = 128 * 1024 ** 2
const GROWTH_MAX = 200

const FILE_TYPE_MASK = 0o170000
const SYMBOLIC_LINK = 0o120000
const ENCRYPTED_FLAG = 1

/** Zips in a zip that are read: those in which Garmin's export of an account holds FIT files. */
const zipWithinZip = /(^|\/)UploadedFiles_[^/]*\.zip$/
const NESTED_ZIPS_MAX = 200
const NESTED_BYTES_MAX = 4 * 1024 ** 3

type ZipEntries = { readonly files: readonly ExportFile[]; close(): Promise<void> }

/** The sums that hold over all levels of one zip. */
type ZipTotals = { readonly packedBytes: number; unpackedBytes: number; entries: number; nestedZips: number }

/**
 * The entries of a zip as files that can be streamed one after the other; they are not unpacked to disk. The whole zip is
 * refused for a path that leads out of it, a link, an encrypted entry, and for a size that no export has. A zip in it that
 * is known to hold files of the export is copied as it is, while its entries are read; no third level is opened.
 */
export async function openZipEntries(path: string, sizeBytes: number): Promise<ZipEntries> {
  const totals = { packedBytes: sizeBytes, unpackedBytes: 0, entries: 0, nestedZips: 0 }
  const open: ZipEntries[] = []
  const close = async () => {
    for (const zip of open) await zip.close()
  }
  try {
    const outer = await openOneZip(path, path, totals)
    open.push(outer)
    const files: ExportFile[] = []
    for (const file of outer.files) {
      if (!zipWithinZip.test(file.name)) files.push(file)
      else {
        const inner = await openNestedZip(file, { path, totals })
        open.push(inner)
        files.push(...inner.files.map((entry) => ({ ...entry, name: `${file.name}/${entry.name}` })))
      }
    }
    return { files, close }
  } catch (error) {
    await close()
    throw error
  }
}

async function openNestedZip(
  file: ExportFile,
  { path, totals }: { readonly path: string; readonly totals: ZipTotals },
): Promise<ZipEntries> {
  const name = `${path}: ${file.name}`
  totals.nestedZips += 1
  if (totals.nestedZips > NESTED_ZIPS_MAX) refuse(path, `it has more than ${NESTED_ZIPS_MAX} zips in it`)
  const copy = await copyPrivately(file, NESTED_BYTES_MAX).catch((cause: Error) => {
    if (cause instanceof UsageProblem || isOfMachine(cause)) throw cause
    return refuse(name, `it is broken: ${cause.message}`)
  })
  try {
    const zip = await openOneZip(copy.path, name, totals)
    // The copy is open: where the system allows that, it goes now, and stays behind after no crash.
    await copy.remove().catch(() => undefined)
    return {
      files: zip.files,
      async close() {
        await zip.close()
        await copy.remove()
      },
    }
  } catch (error) {
    await copy.remove()
    throw error
  }
}

function refuse(name: string, why: string): never {
  throw new UsageProblem(`read ${name}: ${why}`, { hint: 'No app exports such a zip; download it again.' })
}

async function openOneZip(path: string, name: string, totals: ZipTotals): Promise<ZipEntries> {
  const zip = await openPromise(path, { autoClose: false, strictFileNames: true, validateEntrySizes: true }).catch(
    (cause: Error) => refuse(name, `it is no whole zip: ${cause.message}`),
  )
  const files: ExportFile[] = []
  try {
    totals.entries += zip.entryCount
    if (totals.entries > ENTRIES_MAX) refuse(name, `it has more than ${ENTRIES_MAX} entries`)
    for await (const entry of zip.eachEntry()) {
      const why = refusalOf(entry)
      if (why !== undefined) refuse(name, why)
      totals.unpackedBytes += entry.uncompressedSize
      if (totals.unpackedBytes > UNPACKED_BYTES_MAX || isBomb(totals.unpackedBytes, totals.packedBytes))
        refuse(name, 'it unpacks to far too much')
      if (entry.fileName.endsWith('/')) continue
      const open = async () => zip.openReadStreamPromise(entry)
      files.push({ name: entry.fileName, sizeBytes: entry.uncompressedSize, open })
    }
  } catch (error) {
    zip.close()
    if (error instanceof UsageProblem) throw error
    refuse(name, error instanceof Error ? error.message : 'its list of entries is broken')
  }
  return { files, close: async () => zip.close() }
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
