/** What a stream is. The streams there are stand in `config/streams.ts`. */

export type Column = {
  /** Column of the stream's table. */
  readonly name: string
  readonly type: 'text' | 'instant' | 'number' | 'boolean'
  /** Where the value stands in a record: the first of these keys that is there. */
  readonly from: readonly string[]
  /** Part of the record's name in life. Without it, and without an `absent` value, the record is quarantined. */
  readonly key?: true
  /** What a missing key column counts as. */
  readonly absent?: string
}

export type StreamName =
  | 'scores'
  | 'biomarkers'
  | 'archetypes'
  | 'trends'
  | 'comparisons'
  | 'tags'
  | 'demographics'
  | 'device-information'

export type PulledStream = {
  readonly name: StreamName
  /** `windowed`: a list, asked for by window. `snapshot`: one object, as it is now. */
  readonly kind: 'windowed' | 'snapshot'
  readonly table: string
  /** The longest window one request asks for. */
  readonly windowMs: number
  /** How long after its instant a record may still change upstream. Younger spans are read, but not called covered. */
  readonly settleMs: number
  /** How far around a pushed item the stream's records may change. Undefined: pushes of that stream do not touch it. */
  readonly touchedBy: Readonly<Record<string, { readonly beforeMs: number; readonly afterMs: number }>>
  readonly columns: readonly Column[]
  /** The columns that say when a record's own period starts and ends; absent in snapshots. */
  readonly startColumn?: string
  readonly endColumn?: string
}

export const keyColumns = (stream: PulledStream): readonly Column[] => stream.columns.filter((column) => column.key)
