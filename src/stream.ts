import type { z } from 'zod'
import type { Operation } from './contract/operations.ts'
import type { QuickCheck } from './contract/quick-check.ts'
import type { Window } from './window.ts'

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

export type PulledStream = {
  readonly name: string
  /** `windowed`: a list, asked for by window. `snapshot`: one object, as it is now. */
  readonly kind: 'windowed' | 'snapshot'
  /** Where it is read, and by whose token: the account's with the externalId in the path, or the profile's own. */
  readonly operation: Operation
  /** How a window is asked for. Absent in snapshots. */
  readonly query?: (window: Window) => Readonly<Record<string, string>>
  /** What a record must be. One that is not goes to quarantine. */
  readonly schema: z.ZodType
  /** Waves through what the schema surely accepts, at a fifth of its cost; without it every record is held against it. */
  readonly quickCheck?: QuickCheck
  readonly table: string
  /** The longest window one request asks for. */
  readonly windowMs: number
  /** The longest a record lasts, in streams whose records have an end. One that lasts longer is not called gone. */
  readonly longestMs?: number
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
