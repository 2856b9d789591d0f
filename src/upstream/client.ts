import type { Budget, Lane } from '../budget.ts'
import { Problem } from '../errors.ts'
import type { TokenShelf } from '../tokens.ts'
import type { Window } from '../window.ts'

/** Our own id and upstream's name of a person. Only the request path ever carries the latter. */
export type ProfileName = { readonly profileId: string; readonly externalId: string }

export type CallOptions = { readonly lane: Lane; readonly signal?: AbortSignal | undefined }

/** The streams that are read by window, and those that are one object as it is now. */
export const windowedStreams = ['scores', 'biomarkers', 'archetypes', 'trends', 'comparisons', 'tags'] as const
export const snapshotStreams = ['demographics', 'device-information'] as const
export type WindowedStream = (typeof windowedStreams)[number]
export type SnapshotStream = (typeof snapshotStreams)[number]
export type StreamName = WindowedStream | SnapshotStream

export type Fields = Readonly<Record<string, unknown>>

/** `raw` is the record's text exactly as upstream sent it; `fields` the same, parsed. Unknown keys are in both. */
export type ReadRecord = { readonly raw: string; readonly fields: Fields }

/** A record that did not fit: `path` within the record, `reason` without any value of it. */
export type OddRecord = { readonly path: string; readonly reason: string; readonly raw: string }

export type Reading = {
  readonly records: readonly ReadRecord[]
  readonly odd: readonly OddRecord[]
  /** When the request was sent, by the clock handed in, read before sending. */
  readonly sentAt: Date
  /** Upstream's own clock, by its Date header. */
  readonly serverDate: Date | undefined
}

export type ReadTarget = ProfileName & { readonly window?: Window | undefined }

/** One log, tag or answer to send: an object, or its JSON text, which is sent byte for byte. */
export type Item = object | string

export type Upstream = {
  /** One reading of one stream. 204 and an empty list are readings without records. */
  read(stream: StreamName, target: ReadTarget, options: CallOptions): Promise<Reading>

  /** One request: at most 90 logs and 150 KB, see `cutBatches`. A bad log makes it `Rejected`, see `faultsByIndex`. */
  pushLogs(profile: ProfileName, items: readonly Item[], options: CallOptions): Promise<unknown>
  pushTags(profile: ProfileName, items: readonly Item[], options: CallOptions): Promise<unknown>
  patchDemographics(profile: ProfileName, changes: Item, options: CallOptions): Promise<unknown>
  putDemographics(profile: ProfileName, demographics: Item, options: CallOptions): Promise<unknown>
  putDeviceInformation(profile: ProfileName, deviceInformation: Item, options: CallOptions): Promise<unknown>

  /** Registers a new profile and keeps its token. A lost answer is resolved by asking, never by registering again. */
  register(profile: ProfileName, options: CallOptions): Promise<void>
  /** One profile as upstream keeps it; `NotThere` when it is unknown. */
  profile(externalId: string, options: CallOptions): Promise<Fields & { readonly externalId: string }>
  /** All profiles that match, page by page, at most `pagesMax` pages. */
  search(
    query: { readonly searchParameter?: string; readonly pageSize?: number; readonly pagesMax?: number },
    options: CallOptions,
  ): AsyncIterable<ReadonlyArray<Fields & { readonly externalId: string }>>
  /** Removes profiles upstream for good. Unknown ones are no error. */
  deleteProfiles(externalIds: readonly string[], options: CallOptions): Promise<void>
  /** Forgets the profile's token here. */
  forget(profileId: string): Promise<void>

  close(): Promise<void>
}

export type Credentials = {
  readonly clientId: string
  readonly clientSecret: string
  readonly appId?: string | undefined
  readonly appSecret?: string | undefined
}

export type UpstreamOptions = {
  readonly url: string
  readonly credentials: Credentials
  readonly shelf: TokenShelf
  readonly budget: Budget
  /** Milliseconds since 1970, by the clock that orders readings. */
  readonly clock: () => number
  /** 0 ≤ random() < 1 */
  readonly random: () => number
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
}

export function openUpstream(options: UpstreamOptions): Upstream {
  throw new Problem(`open upstream ${new URL(options.url).origin}: not built yet`)
}
