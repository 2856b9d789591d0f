import type { ExportFile, FileHead, HealthFormat, HealthRecord, ReadOptions, RecordBatch } from './export-format.ts'
import type { RowReader, SourceRow } from './small-files.ts'

/** One kind of file in an export of many: how it is recognised, how its rows are read, what is made of a row. */
export type FileKind = {
  readonly recognises: (head: FileHead) => boolean
  readonly rows: RowReader
  readonly recordsOf: (row: SourceRow, place: string, options: ReadOptions) => readonly HealthRecord[]
}

/** A format whose export is a folder of files, each of one of these kinds. */
export function formatOfKinds(about: Omit<HealthFormat, 'detects' | 'read'>, kinds: readonly FileKind[]): HealthFormat {
  const kindOf = (head: FileHead) => kinds.find(({ recognises }) => recognises(head))
  return {
    ...about,
    detects: (head) => kindOf(head) !== undefined,
    async *read(file, options) {
      const kind = kindOf(options.head)
      if (kind) yield* recordsOfKind(kind, file, options)
    },
  }
}

async function* recordsOfKind(kind: FileKind, file: ExportFile, options: ReadOptions): AsyncGenerator<RecordBatch> {
  let number = 0
  for await (const { rows, bytesRead } of kind.rows(file)) {
    const records = rows.flatMap((row) => {
      number += 1
      return kind.recordsOf(row, `record ${number}`, options)
    })
    yield { records, bytesRead }
  }
}
