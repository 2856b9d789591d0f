import type { z } from 'zod'
import type { StrangeType } from '../../base/contract/data-types.ts'
import type { LogEvidence, StreamNeeds } from '../../base/contract/log-evidence.ts'
import type { Operation } from '../../base/contract/operations.ts'
import type { QuickCheck } from '../../base/contract/quick-check.ts'
import { namedUuid } from '../../base/text/digest.ts'
import type { Span } from '../../base/time/spans.ts'

export type Column = {
  /** Column of the stream's table. */
  readonly name: string
  readonly type: 'text' | 'instant' | 'number' | 'boolean'
  /** The keys under which a record may hold the value: the first key that is present counts. */
  readonly from: readonly string[]
  /** The column is part of the record's natural key. A record without it, and without an `absent` value, is quarantined. */
  readonly key?: true
  /** The value that a missing key column counts as. */
  readonly absent?: string
}

export type AddedType = 'text' | 'integer' | 'bigint' | 'real' | 'double' | 'boolean' | 'timestamptz' | 'date' | 'jsonb'

/** A column of `warehouse.<table>_added`, made of the stored records: the words of `vitalsync columns add`. */
export type NewColumn = { readonly name: string; readonly path: string; readonly type: AddedType }

/** Which records may change upstream after a push: records within this distance of each pushed item, or all records. */
export type Reach = { readonly beforeMs: number; readonly afterMs: number } | 'everything'

/** One row of the catalogue of pulled streams, `config/streams.ts`. */
export type PulledStream = {
  readonly name: string
  /** `windowed`: a list of records, read by window. `snapshot`: one object, as it is now. */
  readonly kind: 'windowed' | 'snapshot'
  /** The operation that reads the stream: with the account's token and the externalId in the path, or with the profile's own. */
  readonly operation: Operation
  /** The query that asks for a window. Absent in snapshots. */
  readonly query?: (window: Span) => Readonly<Record<string, string>>
  /** A record that does not fit the schema is quarantined. */
  readonly schema: z.ZodType
  /** Recognises records that the schema surely accepts, at a fifth of its cost. The schema checks all other records. */
  readonly quickCheck?: QuickCheck
  readonly table: string
  /** The longest window one request asks for. */
  readonly windowMs: number
  /** The longest that a record lasts, in streams whose records have an end. A record that lasts longer is never marked gone. */
  readonly longestMs?: number
  /** How long after its instant a record may still change upstream. Younger spans are read, but do not count as covered. */
  readonly settleMs: number
  /** By the name of a pushed stream: how far a push of it reaches. A push of a stream that is not named changes nothing. */
  readonly touchedBy: Readonly<Record<string, Reach>>
  readonly columns: readonly Column[]
  /** Columns that came after the table, which `vitalsync migrate` adds. Workers fill them for the records that are stored. */
  readonly added?: readonly NewColumn[]
  /** The columns that hold the start and the end of a record's own period. Absent in snapshots. */
  readonly startColumn?: string
  readonly endColumn?: string
  /**
   * The periodicities of records that cover one day. Such a record that starts at noon or later, as a night does, belongs to
   * the next day.
   */
  readonly dayPeriodicities?: readonly string[]
  /** The logs that upstream derives from, by which an empty day is explained. Present where a record speaks of one day. */
  readonly needs?: StreamNeeds
}

export const keyColumns = (stream: PulledStream): readonly Column[] => stream.columns.filter((column) => column.key)

/** The fields of an object that was parsed from JSON. */
export type Fields = Readonly<Record<string, unknown>>

type PushedCommon = {
  readonly name: string
  /** Checks an item. Its keys are the columns that a CSV file may have. */
  readonly schema: z.ZodObject
  /** Recognises items that the schema surely accepts, at a fraction of its cost. The schema checks all other items. */
  readonly quickCheck?: QuickCheck
  /** The columns of a CSV file whose cells are numbers. */
  readonly numbers: readonly string[]
  /** The type of an item when nothing is derived from items of that type: the item is accepted, and its type is reported. */
  strangeType?(body: Fields): StrangeType | undefined
  /** The evidence of an item about the days that it touches, by which an empty day is explained. */
  evidenceOf?(body: Fields): LogEvidence
}

/** Many items in one request, each with a key of its own. When an item comes again, its last form counts. */
export type PushedList = PushedCommon & {
  readonly kind: 'list'
  /** Receives a batch. The operation says by whose token: the account's, or the profile's own. */
  readonly operation: Operation
  /** Checks the answer of the operation. Undefined: any JSON will do, because nothing reads it. */
  readonly answer: z.ZodType | undefined
  /** The item's stable key, and its body as it is sent. */
  identify(body: Fields, origin: ItemOrigin): { readonly itemKey: string; readonly body: Fields }
}

type ItemOrigin = { readonly externalId: string; readonly startAtMs: number; readonly endAtMs: number }

/** One object a profile. */
export type PushedSnapshot = PushedCommon & {
  readonly kind: 'snapshot'
  /** Receives the whole object. */
  readonly replace: Operation
} & (
    | { readonly merge: 'last-wins' }
    /** An update names the fields that it changes. Waiting updates are merged, and known values are not sent again. */
    | { readonly merge: 'merge-patch'; readonly patch: Operation }
  )

/** One row of the catalogue of pushed streams, `config/streams.ts`. */
export type PushedStream = PushedList | PushedSnapshot

export type Catalogue = {
  readonly pulled: readonly PulledStream[]
  /** In the order of pushing. */
  readonly pushed: readonly PushedStream[]
}

type Identify = PushedList['identify']

/** The namespace of the ids that logs without an id are given. */
const LOG_ID_NAMESPACE = '8d0f3c1e-5a52-4f0b-9a35-1f1f3f0c7a11'

/**
 * A log is known by its id. A log without an id is given one: the same measurement, read from another file or read again,
 * gets the same id, and upstream knows it by this id.
 */
export const identifyLog: Identify = (body, origin) => {
  const { id } = body
  const itemKey = typeof id === 'string' ? id.toLowerCase() : namedUuid(LOG_ID_NAMESPACE, measurementOf(body, origin))
  return { itemKey, body: { ...body, id: itemKey } }
}

function measurementOf(body: Fields, { externalId, startAtMs, endAtMs }: ItemOrigin): string[] {
  return [externalId, body['logType'], body['dataType'], body['source'], startAtMs, endAtMs].map(String)
}

/** A tag is known by its type, name, source and start. */
export const identifyTag: Identify = (body, { startAtMs }) => {
  const { type, name, source } = body
  return { itemKey: JSON.stringify([type, name, source, startAtMs]), body }
}
