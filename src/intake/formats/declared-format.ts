import { Problem } from '../../base/errors.ts'
import type {
  FileHead,
  HealthFormat,
  HealthRecord,
  MappingRow,
  Origin,
  ReadOptions,
  RecordPlace,
} from './export-format.ts'
import type { MeasureName, SessionName } from './measures.ts'
import { type RowReader, readTableRows, type SourceRow } from './small-files.ts'
import { later, type RecordTime } from './source-times.ts'
import {
  type DraftFrame,
  faultOf,
  isEmpty,
  lastingRecord,
  measuredRecord,
  numberIn,
  sessionName,
} from './source-values.ts'

type RecordsOf = (row: SourceRow, place: RecordPlace, options: ReadOptions) => readonly HealthRecord[]

/** Maps a field of a row, or the whole row, to records; `mapping` lists the same for the docs. */
export type FieldRule = {
  /** The field, where it is one. */
  readonly from?: string
  readonly recordsOf: (row: SourceRow, place: RecordPlace, frame: DraftFrame) => readonly HealthRecord[]
  /** `from` is the place within the file; empty for the file itself. */
  readonly mapping: readonly MappingRow[]
}

export type RowDeclaration = {
  /** The file, or the document, as the docs name it; empty where they name the fields alone. */
  readonly file: string
  /** The time of a row; or a text: what is wrong with the row, which is then shown; or a reason without the row. */
  readonly when: (row: SourceRow, options: ReadOptions) => RecordTime | string | { leftOut: string } | { fault: string }
  readonly frame?: (row: SourceRow, time: RecordTime) => Partial<DraftFrame>
  readonly fields: readonly FieldRule[]
}

/** A row of a file with rows of several kinds is read by the first declaration that `holds` it. */
type MixedRows = {
  readonly mixed: ReadonlyArray<RowDeclaration & { readonly holds: (row: SourceRow) => boolean }>
  /** Why a row that no declaration holds is left out. */
  readonly otherwise: string
}

type DeclaredRows = { readonly recordsOf: RecordsOf; readonly mapping: readonly MappingRow[] }

/** A kind of file in an export, by default a table. Its rows are declared, or read by functions of its own. */
export type FileKind = {
  readonly recognises: (head: FileHead) => boolean
  readonly rows?: RowReader
} & (RowDeclaration | MixedRows | DeclaredRows)

type DeclaredFormat = Omit<HealthFormat, 'detects' | 'read' | 'mapping'> & {
  /** Source, device and method of all records of a format, unless a row has its own. */
  readonly origin: Origin
  readonly kinds: readonly FileKind[]
  /** Parts of the export that are left out on purpose, or that need a word. */
  readonly leftOut: ReadonlyArray<LeftOut | MappingRow>
}

type LeftOut = readonly [from: string, note: string, files?: RegExp]

/** Records left out on purpose, with the reason, and the names of files that are left out as a whole. */
export const leftOutRows = (rows: DeclaredFormat['leftOut']): MappingRow[] =>
  rows.map((row) => ('from' in row ? row : { from: row[0], note: row[1], ...(row[2] && { files: row[2] }) }))

/** A format whose export is a folder of files, each of one of these kinds. */
export function declareFormat({ origin, kinds, leftOut, ...about }: DeclaredFormat): HealthFormat {
  const readers = kinds.map((kind) => ({
    recognises: kind.recognises,
    rowsOf: kind.rows ?? readTableRows,
    ...('mixed' in kind ? mixedRows(origin, kind) : 'fields' in kind ? declareRows(origin, kind) : kind),
  }))
  const readerOf = (head: FileHead) => readers.find(({ recognises }) => recognises(head))
  return {
    ...about,
    mapping: [...readers.flatMap(({ mapping }) => mapping), ...leftOutRows(leftOut)],
    detects: (head) => readerOf(head) !== undefined,
    async *read(file, options) {
      const reader = readerOf(options.head)
      let number = 0
      for await (const { rows, bytesRead } of reader?.rowsOf(file, options.head) ?? []) {
        const records = rows.flatMap((row) => {
          number += 1
          return reader ? readRow(reader.recordsOf, row, { place: number, options }) : []
        })
        yield { records, bytesRead, counted: 'record' }
      }
    },
  }
}

/** A row that breaks its reader, as with a date beyond all calendars, is a fault of its own. A Problem concerns the file. */
function readRow(
  recordsOf: RecordsOf,
  row: SourceRow,
  { place, options }: { readonly place: RecordPlace; readonly options: ReadOptions },
): readonly HealthRecord[] {
  try {
    return recordsOf(row, place, options)
  } catch (error) {
    if (error instanceof Problem) throw error
    return faultOf(place, 'a row that cannot be read', row)
  }
}

/** The one interpreter of declarations. */
export function declareRows(origin: Origin, { file, when, frame, fields }: RowDeclaration): DeclaredRows {
  const [first, ...others] = fields
  return {
    recordsOf(row, place, options) {
      const time = when(row, options)
      if (typeof time === 'string') return faultOf(place, time, row)
      if ('leftOut' in time) return [{ place, leftOut: time.leftOut }]
      if ('fault' in time) return faultOf(place, time.fault, {})
      const whole = frameOf(origin, time, frame?.(row, time) ?? {})
      // Most rows have one field: a list of its records would be copied for nothing.
      if (first && others.length === 0) return first.recordsOf(row, place, whole)
      return fields.flatMap((field) => field.recordsOf(row, place, whole))
    },
    mapping: fields.flatMap(({ mapping }) =>
      mapping.map(({ from, ...rest }) => ({ from: [file, from].filter((name) => name !== '').join(', '), ...rest })),
    ),
  }
}

/** Writes out the fields: to copy an origin and add fields to the copy costs as much as all else of reading a record. */
const frameOf = (origin: Origin, time: RecordTime, ofRow: Partial<DraftFrame>): DraftFrame => ({
  start: ofRow.start ?? time.start,
  end: ofRow.end ?? time.end,
  source: ofRow.source ?? origin.source,
  deviceType: ofRow.deviceType ?? origin.deviceType,
  deviceId: ofRow.deviceId ?? origin.deviceId,
  recordingMethod: ofRow.recordingMethod ?? origin.recordingMethod,
  modifiedMs: ofRow.modifiedMs ?? origin.modifiedMs,
  periodicity: ofRow.periodicity ?? origin.periodicity,
  aggregation: ofRow.aggregation ?? origin.aggregation,
  ownId: ofRow.ownId ?? origin.ownId,
  properties: ofRow.properties ?? origin.properties,
})

function mixedRows(origin: Origin, { mixed, otherwise }: MixedRows): DeclaredRows {
  const readers = mixed.map((declaration) => ({ holds: declaration.holds, ...declareRows(origin, declaration) }))
  return {
    recordsOf(row, place, options) {
      const reader = readers.find(({ holds }) => holds(row))
      return reader ? reader.recordsOf(row, place, options) : [{ place, leftOut: otherwise }]
    },
    mapping: readers.flatMap(({ mapping }) => mapping),
  }
}

type MeasureOptions = Pick<DraftFrame, 'aggregation'> & {
  /** The field, as the docs name it. */
  readonly as?: string
  /** The clock or the length of time, which the docs add to the unit. */
  readonly of?: string
  readonly note?: string
  /** For a field that every row has: why a row of 0 is left out. */
  readonly zero?: string
}

/** A field with a number in this unit. An empty cell is no record. */
export const measure = (from: string, to: MeasureName, unit: string, options: MeasureOptions = {}): FieldRule => {
  const { as = from, of = '', note, zero, aggregation } = options
  return {
    from,
    recordsOf(row, place, frame) {
      if (isEmpty(row[from]) && zero === undefined) return []
      const value = numberIn(row[from])
      if (Number.isNaN(value)) return faultOf(place, `${from}: is no number`, row)
      if (value === 0 && zero !== undefined) return [{ place, leftOut: zero }]
      return [measuredRecord(place, { to, unit, value }, aggregation ? { ...frame, aggregation } : frame)]
    },
    mapping: [{ from: as, to, units: `${unit}${of}`, note }],
  }
}

const LASTING = 'from start to end'

/** The whole row lasts: a night. */
export const lasting = (to: MeasureName, as: string, units = LASTING): FieldRule => ({
  recordsOf: (_row, place, frame) => [lastingRecord(place, to, frame)],
  mapping: [{ from: as, to, units }],
})

/** The whole row is a session of exercise; `type` is what the vendor calls its kind. */
export const session = (type: string, textOf: (row: SourceRow) => unknown, units = LASTING): FieldRule => ({
  recordsOf: (row, place, frame) => [lastingRecord(place, sessionName(textOf(row)), frame)],
  mapping: [{ from: '', to: `exercise_session_<${type}>`, units }],
})

/** A field whose codes say what lasts: a stage of sleep. `otherwise` is the fault of any other code. */
export const coded = (
  from: string,
  codes: Readonly<Record<string, MeasureName | SessionName>>,
  {
    units = LASTING,
    otherwise,
  }: { readonly units?: string; readonly otherwise: string | { readonly to: SessionName } },
): FieldRule => ({
  from,
  recordsOf(row, place, frame) {
    const code = String(numberIn(row[from]))
    const to = Object.hasOwn(codes, code) ? codes[code] : undefined
    if (to) return [lastingRecord(place, to, frame)]
    return typeof otherwise === 'string' ? faultOf(place, otherwise, row) : [lastingRecord(place, otherwise.to, frame)]
  },
  mapping: [
    ...Object.entries(codes).map(([code, to]) => ({ from: code, to, units })),
    ...(typeof otherwise === 'string' ? [] : [{ from: 'any other', to: otherwise.to, units }]),
  ],
})

/**
 * Fields with the lengths of waking, light, deep and REM sleep, where the export has no times: the stages are laid end to end from the start of the night.
 * Their sums are right, their times are not.
 */
export const endToEnd = (fields: readonly string[], units: string, unitMs: number): FieldRule => ({
  recordsOf(row, place, frame) {
    let { start } = frame
    return fields.flatMap((name, index) => {
      const stage = nightStages[index]
      const lengthMs = numberIn(row[name]) * unitMs
      if (!stage || !(lengthMs > 0)) return []
      const properties = { position: 'laid end to end' }
      const record = lastingRecord(place, stage, { ...frame, start, end: later(start, lengthMs), properties })
      start = later(start, lengthMs)
      return [record]
    })
  },
  mapping: fields.map((from, index) => ({
    from,
    to: nightStages[index],
    units,
    note: 'laid end to end: the export tells how long, not when',
  })),
})

const nightStages = ['sleep_stage_awake', 'sleep_stage_light', 'sleep_stage_deep', 'sleep_stage_rem'] as const
