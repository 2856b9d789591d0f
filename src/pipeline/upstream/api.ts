import {
  type ProfileTokenInput,
  receivedAccountTokenSchema,
  receivedProfileTokenSchema,
} from '../../base/contract/authentication.ts'
import { type Operation, operations } from '../../base/contract/operations.ts'
import {
  type ReceivedProfilePage,
  receivedProfilePageSchema,
  receivedProfileSchema,
} from '../../base/contract/profile.ts'
import { explainOperation, explanationSchema } from '../../base/contract/score-explanation.ts'
import { Rejected } from '../../base/errors.ts'
import type { Span } from '../../base/time/spans.ts'
import { BATCH_BYTES_MAX, ITEMS_PER_BATCH_MAX } from '../transfer/parcel.ts'
import type { ProfileIds } from '../transfer/planned-profile.ts'
import type { UpstreamAnswer } from '../transfer/reading.ts'
import type { PulledStream, PushedList, PushedStream } from '../transfer/stream.ts'
import type { AuthorizedSender } from './authorized-sender.ts'
import { queryStringOf } from './operation-rules.ts'
import { bodyParserOf } from './parse-body.ts'
import { itemTextOf, type PushItem, type PushItems } from './push-items.ts'
import { parseAnswer, RecordCollector, unchangedAnswer } from './record-collector.ts'
import { AttemptError, type CallOptions, type Sender, type TimedResponse } from './sender.ts'

/** The credentials of the account, from the configuration. */
export type UpstreamCredentials = { readonly clientId: string; readonly clientSecret: string }

type ProfileTokenRequest = Pick<ProfileTokenInput, 'externalId'> & Partial<ProfileTokenInput>
type SpentTokens = { readonly profileToken: string; readonly refreshToken: string }
type ProfilePageQuery = {
  readonly searchParameter?: string | undefined
  readonly currentPage: number
  readonly pageSize: number
}

type ScoreOfDay = { readonly externalId: string; readonly date: string; readonly score: string }

type WindowToRead = ProfileIds & {
  readonly window?: Span
  /** The tag of the last reading of the same window, if its records are still stored as they came. */
  readonly heldTag?: string | undefined
}

type ApiDeps = {
  readonly sender: Sender
  readonly authorized: AuthorizedSender
  readonly credentials: UpstreamCredentials
}

/**
 * The operations of the interface that an account needs, each by its name in the contract; `read`, `pushItems` and `pushSnapshot`
 * cover all operations of a stream. `registerByApp` is missing: it needs the credentials of an app.
 */
export function createUpstreamApi(deps: ApiDeps) {
  return {
    ...tokenOperations(deps),
    ...profileOperations(deps),
    ...readOperations(deps),
    ...pushOperations(deps),
  }
}

export type UpstreamApi = ReturnType<typeof createUpstreamApi>

/** A call without a token of ours has no token to renew: its 401 is a refusal like any other. */
function withoutRenewal(sender: Sender): Sender {
  return (call) =>
    sender(call).catch((error: unknown) => {
      if (!(error instanceof AttemptError)) throw error
      throw new Rejected(`call ${call.operation.name}: upstream refuses (status 401)`, { status: 401 })
    })
}

function tokenOperations({ sender, authorized, credentials: { clientId, clientSecret } }: ApiDeps) {
  const send = withoutRenewal(sender)
  const parse = bodyParserOf(receivedProfileTokenSchema)
  return {
    accountToken: (options: CallOptions) =>
      send({
        operation: operations.accountToken,
        ...options,
        body: JSON.stringify({ clientId, clientSecret }),
        secrets: [clientSecret, clientId],
        parse: bodyParserOf(receivedAccountTokenSchema),
      }),
    register: (externalId: string, options: CallOptions) =>
      authorized.asAccount({ operation: operations.register, ...options, body: JSON.stringify({ externalId }), parse }),
    profileToken(request: ProfileTokenRequest, options: CallOptions) {
      const { externalId } = request
      const body = JSON.stringify(request)
      return authorized.asAccount({ operation: operations.profileToken, ...options, externalId, body, parse })
    },
    /** Spends the refresh token, even when the answer is lost: never retried. */
    refreshToken: ({ profileToken, refreshToken }: SpentTokens, options: CallOptions) =>
      send({
        operation: operations.refreshToken,
        ...options,
        identity: ['authorization', `profile ${profileToken}`],
        body: JSON.stringify({ refreshToken }),
        secrets: [refreshToken, profileToken],
        parse,
      }),
  }
}

function profileOperations({ authorized }: ApiDeps) {
  const parseErased = bodyParserOf(undefined)
  const parsePage = bodyParserOf(receivedProfilePageSchema)
  return {
    profile: (externalId: string, options: CallOptions) =>
      authorized.asAccount({
        operation: operations.profile,
        externalId,
        ...options,
        parse: bodyParserOf(receivedProfileSchema),
      }),
    searchProfiles: (query: ProfilePageQuery, options: CallOptions) =>
      authorized.asAccount({
        operation: operations.searchProfiles,
        query: queryStringOf(query),
        externalId: query.searchParameter,
        ...options,
        parse: (answered): ReceivedProfilePage => (answered.kind === 'bare' ? { items: [] } : parsePage(answered)),
      }),
    deleteProfiles: (externalIds: readonly string[], options: CallOptions) =>
      authorized.asAccount<void>({
        operation: operations.deleteProfiles,
        ...options,
        body: JSON.stringify({ externalIds }),
        parse: (answered) => void parseErased(answered),
      }),
  }
}

function readOperations({ authorized }: ApiDeps) {
  return {
    /** Asks where the score of a local day comes from, or why it is missing. Throws `NotThere` where upstream does not explain. */
    explain: ({ externalId, ...query }: ScoreOfDay, options: CallOptions) =>
      authorized.asAccount({
        operation: explainOperation,
        externalId,
        query: queryStringOf(query),
        ...options,
        parse: bodyParserOf(explanationSchema),
      }),
    /** Reads one stream as its row of the catalogue says. The operation says by whose token it is called. */
    read(stream: PulledStream, target: WindowToRead, options: CallOptions): Promise<UpstreamAnswer> {
      const { operation } = stream
      const call = {
        operation,
        ...options,
        query: target.window && windowQueryOf(stream, target.window),
        heldTag: target.heldTag,
        sinkFor: (status: number) => (status === 200 ? new RecordCollector(stream) : undefined),
        parse: (timed: TimedResponse) =>
          timed.kind === 'unchanged' ? unchangedAnswer(target.heldTag, timed) : parseAnswer(stream, timed),
      }
      return operation.caller === 'profile'
        ? authorized.asProfile(target, call)
        : authorized.asAccount({ ...call, externalId: target.externalId })
    },
  }
}

function windowQueryOf(stream: PulledStream, window: Span): string {
  const { name, query } = stream
  if (!(window.startMs < window.endMs)) {
    throw new RangeError(`read ${name}: the window would end (${window.endMs}) before it starts (${window.startMs})`)
  }
  const last = lastQueries.get(stream)
  if (last?.startMs === window.startMs && last.endMs === window.endMs) return last.text
  const text = queryStringOf(query?.(window) ?? {})
  lastQueries.set(stream, { ...window, text })
  return text
}

/** The last window of each stream: a nightly asks for the same windows of everybody. */
const lastQueries = new WeakMap<PulledStream, Span & { readonly text: string }>()

type Batch = { readonly stream: Pick<PushedList, 'operation' | 'answer' | 'schema'>; readonly items: PushItems }
type Snapshot = { readonly operation: Operation; readonly schema: PushedStream['schema']; readonly body: PushItem }

type Pushed = Pick<PushedList, 'operation' | 'answer' | 'schema'> & {
  readonly profile: ProfileIds
  readonly body: string
}

function pushOperations({ authorized }: ApiDeps) {
  /** The operation says by whose token it is called. */
  const push = ({ operation, answer, schema, profile, body }: Pushed, options: CallOptions): Promise<unknown> => {
    const parse = answer ? bodyParserOf(answer) : bodyParserOf(undefined)
    const call = { operation, ...options, body, fields: Object.keys(schema.shape), parse }
    return operation.caller === 'profile'
      ? authorized.asProfile(profile, call)
      : authorized.asAccount({ ...call, externalId: profile.externalId })
  }
  return {
    /** Sends one batch to where the stream's row says. */
    async pushItems(profile: ProfileIds, { stream, items }: Batch, options: CallOptions) {
      const { operation, answer, schema } = stream
      return push({ operation, answer, schema, profile, body: batchBodyOf(items) }, options)
    },
    /** Sends one object, or an update of it, by an operation of the stream's row. */
    pushSnapshot: (profile: ProfileIds, { body, ...snapshot }: Snapshot, options: CallOptions) =>
      push({ ...snapshot, answer: undefined, profile, body: itemTextOf(body) }, options),
  }
}

/** One request takes a batch of `cutBatches`; a single item that is too large is sent all the same: upstream refuses it. */
function batchBodyOf(items: PushItems): string {
  const [joined, count] =
    'joined' in items ? [items.joined, items.count] : [items.map(itemTextOf).join(','), items.length]
  const body = `[${joined}]`
  const tooLarge = count > 1 && Buffer.byteLength(body) > BATCH_BYTES_MAX
  if (count > ITEMS_PER_BATCH_MAX || tooLarge) {
    throw new RangeError(
      `upload batch: more than ${ITEMS_PER_BATCH_MAX} items or ${BATCH_BYTES_MAX} bytes; cut it with cutBatches`,
    )
  }
  return body
}
