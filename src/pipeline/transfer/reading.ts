import type { DerivationState } from '../../base/contract/derivation-state.ts'
import type { Span } from '../../base/time/spans.ts'
import type { Fields, PulledStream } from './stream.ts'

/** A record as upstream sent it: `raw` is its exact text, `fields` the same text parsed. Unknown keys are in both. */
export type SourceRecord = { readonly raw: string; readonly fields: Fields }

/** A record that does not fit: `path` leads to the fault within the record, `reason` quotes no value of the record. */
export type InvalidRecord = { readonly path: string; readonly reason: string; readonly raw: string }

/** A window to read, with the ledger's generation at the time of planning, before the request is sent. */
export type DueWindow = {
  readonly stream: PulledStream
  readonly window: Span
  readonly generation: number
  /** The tag of the last reading of this window, if the stored records are as that reading gave them. */
  readonly heldTag?: string | undefined
}

/** One answer of upstream. */
export type UpstreamAnswer = {
  readonly records: readonly SourceRecord[]
  readonly invalid: readonly InvalidRecord[]
  /** When the request was sent, by the clock that orders readings, read before sending. */
  readonly sentAtMs: number
  /** Upstream's own clock, by the answer's Date header. */
  readonly serverAtMs: number | undefined
  /** Upstream's own word about its answer. Undefined: it gives none. */
  readonly word: DerivationState | undefined
  /** Upstream's strong tag of the answer, opaque. Undefined: it gives none. */
  readonly tag: string | undefined
  /** Upstream answered that nothing has changed since the answer with the tag that was sent. There are no records then. */
  readonly unchanged: boolean
  /** Upstream names a further page of the answer: records of the window are missing. */
  readonly isPartial?: boolean
}

/** A due window of one profile with upstream's answer, on its way into the warehouse. */
export type Reading = { readonly profileId: string } & DueWindow & UpstreamAnswer
