import { type Span, subtract, union } from '../../src/base/time/spans.ts'
import { type AwaitingPart, nextReadingAtMs, type SettleRule } from '../../src/pipeline/ledger/awaiting-upstream.ts'
import type { RecentWindow, WindowEdges } from '../../src/pipeline/ledger/judge.ts'
import type { Suspicion } from '../../src/pipeline/ledger/suspicion.ts'
import type { Parcel } from '../../src/pipeline/transfer/parcel.ts'
import type { ModelRecord } from './records.ts'
import type { ModelRun } from './runs.ts'

export type LedgerRow = {
  covered: Span[]
  generation: number
  /** Touched by a push, and not read since: all of it by the push at `touchedAtMs`. */
  unread: Span[]
  touchedAtMs: number | null
  /** Spans that are read again until two readings agree. */
  rereads: AwaitingPart[]
  readAgainAtMs: number
  recent: readonly RecentWindow[]
  readAtMs: number | null
  pushedToMs: number | null
  tagged: boolean
  suspicions: readonly Suspicion[]
}

export const newLedgerRow = (): LedgerRow => ({
  covered: [],
  generation: 0,
  unread: [],
  touchedAtMs: null,
  rereads: [],
  readAgainAtMs: Number.NEGATIVE_INFINITY,
  recent: [],
  readAtMs: null,
  pushedToMs: null,
  tagged: false,
  suspicions: [],
})

/** A push that touches again what was read since the push before it starts the agreement again. */
export const awaitingOf = ({ unread, touchedAtMs, rereads }: LedgerRow): AwaitingPart[] => [
  ...rereads.flatMap((part) => subtract([part], unread).map((span) => ({ ...part, ...span }))),
  ...unread.map((span) => ({ ...span, touchedAtMs: touchedAtMs ?? 0, readAtMs: null, readings: 0 })),
]

/** Keeps the parts after a reading that was sent at `sentAtMs`. */
export function keepAwaiting(row: LedgerRow, parts: readonly AwaitingPart[], sentAtMs: number, rule: SettleRule): void {
  const isUnread = ({ readAtMs, isSuspect }: AwaitingPart) => readAtMs === null && !isSuspect
  const next = parts.map((part) => nextReadingAtMs(part, rule)).filter((ms) => ms > sentAtMs)
  row.unread = union(parts.filter(isUnread))
  row.rereads = parts.filter((part) => !isUnread(part))
  row.readAgainAtMs = next.length === 0 ? Number.NEGATIVE_INFINITY : Math.ceil(Math.min(...next))
}

export type StoredRecord = ModelRecord & {
  readonly stream: string
  readonly readAtMs: number
  readonly firstSeenMs: number
  readonly changedMs: number
  readonly goneMs: number | null
  readonly revision: number
}

export type FormerRecord = {
  readonly stream: string
  readonly key: StoredRecord['key']
  readonly revision: number
  readonly raw: string
  readonly fromMs: number
  readonly untilMs: number
  readonly goneMs: number | null
}

type Refusal = {
  readonly stream: string
  readonly window: Span
  readonly status: number | null
  readonly attempts: number
  readonly firstMs: number
  readonly lastMs: number
  readonly nextTryMs: number
}

export type HeldTag = Span & {
  readonly stream: string
  readonly tag: string
  readonly requestHash: number
  readonly edges: WindowEdges
}

type Quarantined = {
  readonly stream: string
  readonly direction: 'push' | 'pull'
  readonly body: string
  readonly path: string
  readonly reason: string
  readonly times: number
  /** The last reading that held the record: its window, the record's local day, and when it was stored. Absent for an item. */
  readonly read?: { readonly window: Span; readonly localDate: string | undefined; readonly seenMs: number }
}

type ModelItem = { readonly body: string; readonly parcelId: string; readonly place: number }

/** Bookkeeping of the promises: readings since the last check, and what the newest reading said of each record. */
type NewestValues = Map<number, { readonly sentAtMs: number; readonly values: readonly (number | undefined)[] }>
type AdmittedByModel = Span & {
  readonly stream: string
  readonly sentAtMs: number
  readonly reachesBack: boolean
  readonly complete: boolean
  readonly values: ReadonlyMap<number, number>
}

export type ModelProfile = {
  readonly externalId: string
  readonly wantedFromMs: number
  readonly addedMs: number
  state: 'new' | 'active' | 'gone'
  registeringUntilMs: number | null
  dueMs: number
  finishedMs: number | null
  runId: string | null
  readonly ledger: Map<string, LedgerRow>
  refusals: Refusal[]
  failures: Map<string, { readonly attempts: number; readonly reason: string }>
  /** By stream and key. */
  readonly records: Map<string, StoredRecord>
  history: FormerRecord[]
  tags: HeldTag[]
  silent: Array<{
    readonly stream: string
    readonly foundMs: number
    readonly records: number
    readonly lateMs: number
  }>
  readonly quarantine: Map<string, Quarantined>
  /** Every item that was ever handed in, by its key. */
  readonly items: Map<string, ModelItem>
  readonly parcels: Map<string, Parcel & { readonly firstEndAtMs: number; readonly addedMs: number }>
  newReadings: AdmittedByModel[]
  readonly newestValues: NewestValues
}

/** The part of the model that a backup copies. */
export type ModelData = {
  people: Map<string, ModelProfile>
  tombstones: Set<string>
  runs: Map<string, ModelRun>
  slots: Set<string>
}
