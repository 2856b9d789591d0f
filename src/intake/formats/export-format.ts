import type { MeasureName, SessionName } from './measures.ts'

/** One file of an export: a file of its own, or an entry of a zip, which is streamed and never unpacked to disk. */
export type ExportFile = {
  /** The path within what was given. */
  readonly name: string
  readonly sizeBytes: number
  open(): Promise<AsyncIterable<Buffer>>
}

/** The beginning of a file, by which a format is recognised. */
export type FileHead = { readonly name: string; readonly text: string; readonly bytes: Buffer }

/** An instant, and the offset in minutes that the source wrote it in. */
export type SourceInstant = { readonly atMs: number; readonly offsetMinutes: number }

/** A measurement in our words and units, before it belongs to a person. */
export type LogDraft = {
  readonly dataType: MeasureName | SessionName
  readonly value: number
  readonly start: SourceInstant
  readonly end: SourceInstant
  /** Shared by the records of a row or a file: to copy its fields into each would cost as much as all else of reading a record. */
  readonly origin: Origin
}

/** Where a record comes from, and what its source says about it. */
export type Origin = {
  readonly source: string
  readonly deviceType: string
  readonly deviceId?: string | undefined
  readonly recordingMethod: 'unknown' | 'manual_entry' | 'automatically_recorded' | 'actively_recorded'
  /** When the source wrote or changed the record: of two records with one identity the newer wins. */
  readonly modifiedMs?: number | undefined
  readonly periodicity?: 'hourly' | 'daily' | undefined
  readonly aggregation?: 'sum' | 'avg' | undefined
  /** The source's own id, when it has one. */
  readonly ownId?: string | undefined
  readonly properties?: Readonly<Record<string, string>> | undefined
}

/** The number of a record among those that its batch counts, or words. The words of a number are made only where they are shown. */
export type RecordPlace = number | string

/** The outcome of one record of a file. A reason names no value. */
export type HealthRecord = { readonly place: RecordPlace } & (
  | { readonly draft: LogDraft }
  | { readonly leftOut: string }
  | { readonly fault: string; readonly text: string }
)

/** Records in the order of the file, how many bytes of it they came from so far, and the name of what their places count. */
export type RecordBatch = {
  readonly records: readonly HealthRecord[]
  readonly bytesRead: number
  readonly counted: string
}

/** One row of the mapping table in the docs. */
export type MappingRow = {
  readonly from: string
  /** Absent: the type is left out, because of `note`. */
  readonly to?: MeasureName | SessionName | undefined
  readonly units?: string
  readonly note?: string | undefined
  /** The names of whole files that are left out because of `note`. */
  readonly files?: RegExp
}

export type ReadOptions = {
  readonly head: FileHead
  /** The instant at which a clock on the wall shows this, as if the milliseconds were UTC. Throws without a time zone. */
  localInstant(wallMs: number): SourceInstant
}

/** A kind of export: its name, how it is recognised, what is read, and the logs that are made of it. */
export type HealthFormat = {
  readonly name: string
  readonly title: string
  /** Exports of one vendor name the same records alike: the same night in two of them is one. */
  readonly vendor: string
  /** The files, for people. */
  readonly files: string
  /** For people: published files that it was tried with, or that there were none. */
  readonly checked: string
  /** For people: the years whose shape of files was read in published files or descriptions. */
  readonly years: string
  readonly mapping: readonly MappingRow[]
  detects(head: FileHead): boolean
  /** Throws a Problem when the file as a whole cannot be read; a record that does not fit is a fault of its own. */
  read(file: ExportFile, options: ReadOptions): AsyncGenerator<RecordBatch>
}
