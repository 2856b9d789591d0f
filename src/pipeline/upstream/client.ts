import { receivedProfileSchema } from '../../base/contract/profile.ts'
import { NotThere, Unanswered } from '../../base/errors.ts'
import type { Sleep } from '../../base/sleep.ts'
import { hexDigestOf } from '../../base/text/digest.ts'
import type { TokenStore } from '../fleet/tokens.ts'
import type { ProfileIds } from '../transfer/planned-profile.ts'
import { createUpstreamApi, type UpstreamApi, type UpstreamCredentials } from './api.ts'
import { AuthorizedSender } from './authorized-sender.ts'
import { type Transport, type TransportLimits, transportDefaults } from './http.ts'
import type { RateLimiter } from './limits/rate-limiter.ts'
import { searchPages } from './search-pages.ts'
import { type CallOptions, createSender, type OddError } from './sender.ts'
import { createTelemetry, type Telemetry } from './telemetry.ts'
import { newProfileToken, obtainToken } from './tokens/obtain-token.ts'
import { TokenProvider } from './tokens/token-provider.ts'
import { acceptEncodingFor, basePathOf, openTransport } from './transport.ts'

type ProfileSearch = { readonly searchParameter?: string; readonly pageSize?: number }

export type Upstream = ReturnType<typeof openUpstream>

type UpstreamOptions = {
  readonly url: string
  readonly credentials: UpstreamCredentials
  readonly tokenStore: TokenStore
  readonly rateLimiter: RateLimiter
  /** Milliseconds since 1970, by the clock that orders readings. */
  readonly clock: () => number
  /** 0 ≤ random() < 1 */
  readonly random: () => number
  readonly sleep: Sleep
  readonly onOddError?: ((error: OddError) => void) | undefined
  /** Without it, a pool of connections to `url`. Tests hand in a transport that records or garbles. */
  readonly transport?: Transport | undefined
}

const PAGE_SIZE = 100
const PAGES_MAX = 100_000

export function openUpstream(options: UpstreamOptions) {
  const { url, credentials, rateLimiter, clock, random, sleep, tokenStore, onOddError } = options
  const transport = options.transport ?? openTransport(url, limitsFor(url, rateLimiter))
  const telemetry = createTelemetry()
  const basePath = basePathOf(url)
  const sender = createSender({ transport, rateLimiter, telemetry, basePath, clock, random, sleep, onOddError })
  const account = accountDigest(url, credentials.clientId)
  const tokens = new TokenProvider({
    store: tokenStore,
    telemetry,
    clock,
    random,
    sleep,
    obtain: (request) => obtainToken({ api, clock }, request),
  })
  const authorized = new AuthorizedSender({ sender, tokens, account, clock })
  const api = createUpstreamApi({ sender, authorized, credentials })
  return {
    /** The operations one by one. */
    api,
    /** Reads one stream as its row of the catalogue says. 204 and an empty list are readings without records. */
    read: api.read,
    /** One request: at most 90 items and 150 KB, see `cutBatches`. `Rejected` names bad items, see `itemFaultsByIndex`. */
    pushItems: api.pushItems,
    pushSnapshot: api.pushSnapshot,
    /** Registers a new profile and saves its token. After a lost answer it asks for the token, and never registers again. */
    register: (profile: ProfileIds, callOptions: CallOptions) =>
      registerProfile({ api, tokens, account, clock }, profile, callOptions),
    /** One profile as upstream has it. Throws `NotThere` when upstream does not know the profile. */
    profile: api.profile,
    /** All profiles that match, page by page. */
    searchProfiles: (query: ProfileSearch, callOptions: CallOptions) =>
      searchAllPages({ api, telemetry }, query, callOptions),
    /** Removes profiles upstream for good. Unknown profiles are no error. */
    deleteProfiles: api.deleteProfiles,
    /** Deletes the profile's token from the token store. */
    forgetToken: (profileId: string) => tokens.forget({ account, profileId }),
    async close() {
      await tokens.close()
      await transport.close()
    },
  }
}

const CONNECTIONS_MAX = 1024

/** As many connections as the budget has requests in flight: more are never needed, fewer would be a second budget. */
function limitsFor(url: string, rateLimiter: RateLimiter): TransportLimits {
  const connectionsMax = Math.min(rateLimiter.state().inFlightMax, CONNECTIONS_MAX)
  return { ...transportDefaults, connectionsMax, acceptEncoding: acceptEncodingFor(url) }
}

/** Identifies the account at this address. A digest, so that tables and memory hold no credential. */
export function accountDigest(url: string, clientId: string): string {
  return hexDigestOf(`${new URL(url).origin}\n${clientId}`, 32)
}

/**
 * A registration whose answer was lost is never sent again: a request for the profile's token shows whether upstream
 * registered the profile. Only when upstream does not know the profile may the queue retry.
 */
async function registerProfile(
  { api, tokens, account, clock }: { api: UpstreamApi; tokens: TokenProvider; account: string; clock: () => number },
  { profileId, externalId }: ProfileIds,
  options: CallOptions,
): Promise<void> {
  const name = { account, profileId }
  const sentAtMs = clock()
  try {
    const answer = await api.register(externalId, options)
    await tokens.save(name, newProfileToken(answer, sentAtMs))
  } catch (error) {
    if (!(error instanceof Unanswered)) throw error
    const token = Promise.resolve(tokens.get(name, 0, { externalId, signal: options.signal }))
    await token.catch((tokenError: unknown) => {
      throw tokenError instanceof NotThere ? error : tokenError
    })
  }
}

async function* searchAllPages(
  { api, telemetry }: { api: UpstreamApi; telemetry: Telemetry },
  query: ProfileSearch,
  options: CallOptions,
) {
  const { searchParameter, pageSize = PAGE_SIZE } = query
  const ask = async (currentPage: number) => api.searchProfiles({ searchParameter, currentPage, pageSize }, options)
  const idOf = (item: unknown) => JSON.stringify(item)
  for await (const items of searchPages({ ask, idOf, pagesMax: PAGES_MAX })) {
    const profiles = items.flatMap((item) => receivedProfileSchema.safeParse(item).data ?? [])
    if (profiles.length < items.length) telemetry.invalidRecords('profiles', items.length - profiles.length)
    yield profiles
  }
}
