import { createHash } from 'node:crypto'
import type { Budget, Lane } from '../budget.ts'
import type { ProfileTokenReading } from '../contract/auth.ts'
import { type ProfileReading, profileReadingSchema } from '../contract/profile.ts'
import { Halted, NotThere, Rejected, Unanswered } from '../errors.ts'
import type { PulledStream } from '../stream.ts'
import type { NewToken, TokenShelf } from '../tokens.ts'
import { SECOND, type Window } from '../window.ts'
import { type Api, createApi } from './api.ts'
import { createAuthorized } from './authorized.ts'
import { createCaller } from './call.ts'
import { eachPage } from './pages.ts'
import { createTelemetry, type Telemetry } from './telemetry.ts'
import { type ObtainRequest, TokenKeeper } from './token-keeper.ts'
import { openTransport, type Transport, type TransportLimits, transportDefaults } from './transport.ts'

/** Our own id and upstream's name of a person. Only the request path ever carries the latter. */
export type ProfileName = { readonly profileId: string; readonly externalId: string }

export type CallOptions = { readonly lane: Lane; readonly signal?: AbortSignal | undefined }

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

/** Items one by one; or the texts of `count` of them, joined by commas, which are sent as they are. */
export type Items = readonly Item[] | { readonly joined: string; readonly count: number }

export type Upstream = {
  /** One reading of one stream, asked for as its row says. 204 and an empty list are readings without records. */
  read(stream: PulledStream, target: ReadTarget, options: CallOptions): Promise<Reading>

  /** One request: at most 90 logs and 150 KB, see `cutBatches`. A bad log makes it `Rejected`, see `faultsByIndex`. */
  pushLogs(profile: ProfileName, items: Items, options: CallOptions): Promise<unknown>
  pushTags(profile: ProfileName, items: Items, options: CallOptions): Promise<unknown>
  patchDemographics(profile: ProfileName, changes: Item, options: CallOptions): Promise<unknown>
  putDemographics(profile: ProfileName, demographics: Item, options: CallOptions): Promise<unknown>
  putDeviceInformation(profile: ProfileName, deviceInformation: Item, options: CallOptions): Promise<unknown>

  /** Registers a new profile and keeps its token. A lost answer is resolved by asking, never by registering again. */
  register(profile: ProfileName, options: CallOptions): Promise<void>
  /** One profile as upstream keeps it; `NotThere` when it is unknown. */
  profile(externalId: string, options: CallOptions): Promise<ProfileReading>
  /** All profiles that match, page by page, at most `pagesMax` pages. */
  search(
    query: { readonly searchParameter?: string; readonly pageSize?: number; readonly pagesMax?: number },
    options: CallOptions,
  ): AsyncIterable<readonly ProfileReading[]>
  /** Removes profiles upstream for good. Unknown ones are no error. */
  deleteProfiles(externalIds: readonly string[], options: CallOptions): Promise<void>
  /** Forgets the profile's token here. */
  forget(profileId: string): Promise<void>

  /** The operations one by one, for what the verbs above do not cover. */
  readonly api: Api

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
  /** Whatever carries requests; absent, a pool of connections to `url`. */
  readonly transport?: Transport | undefined
}

const PAGE_SIZE = 100
const PAGES_MAX = 100_000

export function openUpstream(options: UpstreamOptions): Upstream {
  const { url, credentials, budget, clock, random, sleep, shelf } = options
  const transport = options.transport ?? openTransport(url, connectionsFor(budget))
  const telemetry = createTelemetry()
  const basePath = new URL(url).pathname.replace(/\/+$/, '')
  const caller = createCaller({ transport, budget, telemetry, basePath, clock, random, sleep })
  const account = accountDigest(url, credentials.clientId)
  const obtain = (request: ObtainRequest): Promise<NewToken> => obtainToken({ api, clock }, request)
  const keeper = new TokenKeeper({ shelf, telemetry, clock, random, sleep, obtain })
  const authorized = createAuthorized({ caller, keeper, account, clock })
  const api = createApi({ caller, authorized, credentials })
  return {
    api,
    read: api.read,
    pushLogs: api.uploadLogs,
    pushTags: api.uploadTagsOf,
    patchDemographics: api.updateDemographic,
    putDemographics: api.replaceDemographic,
    putDeviceInformation: api.updateDeviceInformation,
    register: (profile, how) => register({ api, keeper, account, clock }, profile, how),
    profile: api.profile,
    search: (query, how) => search({ api, telemetry }, query, how),
    deleteProfiles: api.deleteProfiles,
    forget: (profileId) => keeper.forget({ account, profileId }),
    async close() {
      await keeper.close()
      await transport.close()
    },
  }
}

const CONNECTIONS_MAX = 1024

/** As many connections as the budget ever lets out at once: more are never needed, fewer would be a second budget. */
function connectionsFor(budget: Budget): TransportLimits {
  return { ...transportDefaults, connections: Math.min(budget.state().inFlightMax, CONNECTIONS_MAX) }
}

/** One account at one address. A digest, so that tables and memory hold no credential. */
function accountDigest(url: string, clientId: string): string {
  return createHash('sha256')
    .update(`${new URL(url).origin}\n${clientId}`)
    .digest('hex')
    .slice(0, 32)
}

type Keeping = { api: Api; keeper: TokenKeeper; account: string; clock: () => number }

/**
 * A registration whose answer was lost is never sent again: whether it took is found out by asking for the profile's
 * token. Only where upstream then knows of no such profile may the queue try again.
 */
async function register(
  { api, keeper, account, clock }: Keeping,
  profile: ProfileName,
  how: CallOptions,
): Promise<void> {
  const { profileId, externalId } = profile
  const name = { account, profileId }
  const sentAtMs = clock()
  try {
    const answer = await api.register(externalId, how)
    await keeper.keep(name, profileTokenOf(answer, sentAtMs))
  } catch (error) {
    if (!(error instanceof Unanswered)) throw error
    await Promise.resolve(keeper.get(name, 0, { externalId, signal: how.signal })).catch((asked: unknown) => {
      throw asked instanceof NotThere ? error : asked
    })
  }
}

type Searching = { api: Api; telemetry: Telemetry }
type Search = Parameters<Upstream['search']>[0]

async function* search({ api, telemetry }: Searching, query: Search, how: CallOptions) {
  const { searchParameter, pageSize = PAGE_SIZE, pagesMax = PAGES_MAX } = query
  const ask = async (currentPage: number) => api.searchProfiles({ searchParameter, currentPage, pageSize }, how)
  const idOf = (item: unknown) => JSON.stringify(item)
  for await (const items of eachPage({ ask, idOf, pagesMax })) {
    const profiles = items.flatMap((item) => profileReadingSchema.safeParse(item).data ?? [])
    if (profiles.length < items.length) telemetry.odd('profiles', items.length - profiles.length)
    yield profiles
  }
}

/** Tokens are asked for ahead of all other work, for all other work waits for them. */
const TOKEN_LANE = { lane: 'nightly' } as const
const LIFE_MS = 86_400 * SECOND

async function obtainToken(
  { api, clock }: { api: Api; clock: () => number },
  request: ObtainRequest,
): Promise<NewToken> {
  const { name, previous, externalId, signal } = request
  const how = { ...TOKEN_LANE, signal }
  const sentAtMs = clock()
  if (name.profileId === undefined) {
    const answer = await api.accountToken(how).catch((error: unknown) => {
      throw isRefusal(error) ? new Halted(`upstream refuses the account's credentials: ${error.message}`) : error
    })
    const lifeMs = answer.expiresIn === undefined ? LIFE_MS : answer.expiresIn * SECOND
    return { secret: answer.accountToken, issuedAtMs: sentAtMs, expiresAtMs: sentAtMs + lifeMs }
  }
  if (previous?.refreshSecret !== undefined) {
    const spent = { profileToken: previous.secret, refreshToken: previous.refreshSecret }
    const refreshed = await api.refreshToken(spent, how).catch(() => undefined)
    if (refreshed !== undefined) return profileTokenOf(refreshed, sentAtMs)
    // Refused, or spent without an answer: either way the refresh token is gone, and the account's token is the way back.
  }
  if (externalId === undefined) throw new Rejected('renew token: the name of the profile is not known', { status: 0 })
  const askedAtMs = clock()
  return profileTokenOf(await api.profileToken({ externalId }, how), askedAtMs)
}

function profileTokenOf(answer: ProfileTokenReading, sentAtMs: number): NewToken {
  const lifeMs = answer.expiresIn === undefined ? LIFE_MS : answer.expiresIn * SECOND
  return {
    secret: answer.profileToken,
    refreshSecret: answer.refreshToken,
    issuedAtMs: sentAtMs,
    expiresAtMs: sentAtMs + lifeMs,
  }
}

function isRefusal(error: unknown): error is Rejected | NotThere {
  return error instanceof Rejected || error instanceof NotThere
}
