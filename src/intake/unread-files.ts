import { printableLine } from '../base/text/readable.ts'
import type { ExportFile, FileHead, HealthFormat } from './formats/export-format.ts'
import { columnsIn } from './formats/small-files.ts'

/** Files of one kind that are not read, with the first of them. */
export type UnreadFiles = {
  readonly reason: string
  /** Left out on purpose. Other files may hold measurements that are missing here. */
  readonly isLeftOut: boolean
  readonly files: number
  readonly file: string
  /** The columns that the files name, or the fields of their first objects. */
  readonly columns: readonly string[]
}

/** By the name of a file: the reason why no export has measurements in it. */
const withoutMeasurements: ReadonlyArray<readonly [name: RegExp, reason: string]> = [
  [/(^|\/)(__MACOSX\/|\._|\.DS_Store$|Thumbs\.db$|desktop\.ini$)/i, 'a file of the operating system'],
  [/\.(txt|md|html?|pdf|png|jpe?g|gif|heic|webp|svg|mp4)$|(^|\/)[^/]*README[^/]*$/i, 'a text or a picture'],
  [/\.(gpx|kml|kmz)$/i, 'a route'],
]

const KINDS_MAX = 200
const COLUMNS_MAX = 40
const COLUMN_LENGTH_MAX = 60

/** Counts the files that no format reads, those of one reason and one set of columns together. */
export function createUnreadFiles(formats: readonly HealthFormat[]) {
  const kinds = new Map<string, UnreadFiles>()
  const leftOut = [
    ...formats.flatMap(({ mapping }) =>
      mapping.flatMap(({ files, note }) => (files && note !== undefined ? [[files, note] as const] : [])),
    ),
    ...withoutMeasurements,
  ]
  return {
    add({ name, sizeBytes }: ExportFile, head: FileHead): void {
      const reason = sizeBytes === 0 ? 'an empty file' : leftOut.find(([names]) => names.test(name))?.[1]
      const fault = head.bytes.length === 0 ? 'it cannot be read' : 'no known format'
      const named = reason === undefined ? namedColumns(head) : []
      const namedKey = JSON.stringify([reason ?? fault, ...named])
      const isListed = kinds.has(namedKey) || kinds.size < KINDS_MAX
      const [key, columns] = isListed ? [namedKey, named] : [JSON.stringify([reason ?? fault]), []]
      const found = { reason: reason ?? fault, isLeftOut: reason !== undefined, columns }
      const known = kinds.get(key) ?? { ...found, files: 0, file: printableLine(name) }
      kinds.set(key, { ...known, files: known.files + 1 })
    },
    list: (): readonly UnreadFiles[] => [...kinds.values()],
  }
}

/** The columns of a table, or the fields at the beginning of JSON. A first line with numbers in it names no columns. */
function namedColumns(head: FileHead): readonly string[] {
  const named = /\.(csv|tsv)$/i.test(head.name)
    ? [...columnsIn(head)]
    : /\.json$/i.test(head.name)
      ? [...new Set(head.text.matchAll(/"([^"\\]+)"\s*:/g).map(([, field = '']) => field))]
      : []
  const isData = named.some((name) => /^[\d\s.,:+-]+$/.test(name))
  return isData ? [] : named.slice(0, COLUMNS_MAX).map((name) => printableLine(name.slice(0, COLUMN_LENGTH_MAX)))
}
