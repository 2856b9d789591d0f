import {
  type AccountTokenReading,
  accountTokenReadingSchema,
  type ProfileTokenInput,
  type ProfileTokenReading,
  profileTokenReadingSchema,
} from '../contract/auth.ts'
import { type UploadReading, uploadReadingSchema } from '../contract/data-log.ts'
import { type Operation, operations } from '../contract/operations.ts'
import {
  type ProfilePageReading,
  type ProfileReading,
  profilePageReadingSchema,
  profileReadingSchema,
} from '../contract/profile.ts'
import { Rejected } from '../errors.ts'
import { BATCH_BYTES_MAX, ITEMS_PER_BATCH_MAX } from '../parcel.ts'
import type { PulledStream } from '../stream.ts'
import type { Authorized } from './authorized.ts'
import { textOf } from './batches.ts'
import { type Answered, type Caller, Refusal } from './call.ts'
import type { CallOptions, Credentials, Item, Items, ProfileName, Reading, ReadTarget } from './client.ts'
import { answerOf, listOf } from './interpret.ts'
import { queryOf } from './query.ts'
import { Gathering, readingOf } from './reading.ts'

type Write = (profile: ProfileName, item: Item, options: CallOptions) => Promise<unknown>
type WriteList = (profile: ProfileName, items: Items, options: CallOptions) => Promise<readonly unknown[]>

/** The operations of the interface, each by the name it has in the contract; those that read a stream are one, `read`. */
export type Api = {
  accountToken(options: CallOptions): Promise<AccountTokenReading>
  register(externalId: string, options: CallOptions): Promise<ProfileTokenReading>
  registerByApp(externalId: string, options: CallOptions): Promise<ProfileTokenReading>
  profileToken(
    wanted: { readonly externalId: string } & Partial<ProfileTokenInput>,
    options: CallOptions,
  ): Promise<ProfileTokenReading>
  /** Spends the refresh token, answer or no answer: never to be sent twice. */
  refreshToken(
    spent: { readonly profileToken: string; readonly refreshToken: string },
    options: CallOptions,
  ): Promise<ProfileTokenReading>
  profile(externalId: string, options: CallOptions): Promise<ProfileReading>
  searchProfiles(
    query: { readonly searchParameter?: string | undefined; readonly currentPage: number; readonly pageSize: number },
    options: CallOptions,
  ): Promise<ProfilePageReading>
  deleteProfiles(externalIds: readonly string[], options: CallOptions): Promise<void>
  uploadLogs(profile: ProfileName, items: Items, options: CallOptions): Promise<UploadReading>
  uploadTags: WriteList
  uploadTagsOf: WriteList
  replaceDemographic: Write
  updateDemographic: Write
  updateDeviceInformation: Write
  /** Asks as the stream's row of the catalogue says. */
  read(stream: PulledStream, target: ReadTarget, options: CallOptions): Promise<Reading>
}

export function createApi(parts: { caller: Caller; authorized: Authorized; credentials: Credentials }): Api {
  const caller = withoutRenewal(parts.caller)
  return { ...authentication({ ...parts, caller }), ...profiles(parts), ...readings(parts), ...writings(parts) }
}

type Parts = Parameters<typeof createApi>[0]

/** Of the calls that carry no token of ours, a 401 is a refusal like any other: there is nothing to renew. */
function withoutRenewal(caller: Caller): Caller {
  return (call) =>
    caller(call).catch((error: unknown) => {
      if (!(error instanceof Refusal)) throw error
      throw new Rejected(`call ${call.operation.name}: upstream refuses (status 401)`, { status: 401 })
    })
}

function authentication({ caller, authorized, credentials }: Parts) {
  const { clientId, clientSecret, appId, appSecret } = credentials
  const interpret = answerOf(profileTokenReadingSchema)
  return {
    accountToken: (options: CallOptions) =>
      caller({
        operation: operations.accountToken,
        ...options,
        body: JSON.stringify({ clientId, clientSecret }),
        secrets: [clientSecret, clientId],
        interpret: answerOf(accountTokenReadingSchema),
      }),
    register: (externalId: string, options: CallOptions) =>
      authorized.asAccount({
        operation: operations.register,
        ...options,
        body: JSON.stringify({ externalId }),
        interpret,
      }),
    async registerByApp(externalId: string, options: CallOptions) {
      if (appId === undefined || appSecret === undefined) {
        throw new Rejected('call registerByApp: no app credentials', {
          status: 0,
          hint: 'Set UPSTREAM_APP_ID and UPSTREAM_APP_SECRET.',
        })
      }
      return caller({
        operation: operations.registerByApp,
        ...options,
        identity: ['AppId', appId, 'AppSecret', appSecret],
        body: JSON.stringify({ externalId }),
        secrets: [appSecret, appId, externalId],
        interpret,
      })
    },
    profileToken: (wanted: { externalId: string } & Partial<ProfileTokenInput>, options: CallOptions) =>
      authorized.asAccount({
        operation: operations.profileToken,
        ...options,
        externalId: wanted.externalId,
        body: JSON.stringify(wanted),
        interpret,
      }),
    refreshToken: (
      { profileToken, refreshToken }: { profileToken: string; refreshToken: string },
      options: CallOptions,
    ) =>
      caller({
        operation: operations.refreshToken,
        ...options,
        identity: ['authorization', `profile ${profileToken}`],
        body: JSON.stringify({ refreshToken }),
        secrets: [refreshToken, profileToken],
        interpret,
      }),
  }
}

function profiles({ authorized }: Parts) {
  return {
    profile: (externalId: string, options: CallOptions) =>
      authorized.asAccount({
        operation: operations.profile,
        externalId,
        ...options,
        interpret: answerOf(profileReadingSchema),
      }),
    searchProfiles: (query: Parameters<Api['searchProfiles']>[0], options: CallOptions) =>
      authorized.asAccount({
        operation: operations.searchProfiles,
        query: queryOf(query),
        externalId: query.searchParameter,
        ...options,
        interpret: answerOf(profilePageReadingSchema),
      }),
    deleteProfiles: (externalIds: readonly string[], options: CallOptions) =>
      authorized.asAccount<void>({
        operation: operations.deleteProfiles,
        ...options,
        body: JSON.stringify({ externalIds }),
        interpret: () => undefined,
      }),
  }
}

function readings({ authorized }: Parts) {
  return {
    /** By whose token, is the operation's to say. */
    read(stream: PulledStream, target: ReadTarget, options: CallOptions): Promise<Reading> {
      const { operation, query } = stream
      const { window } = target
      const call = {
        operation,
        ...options,
        query: window === undefined ? undefined : queryOf(query?.(window) ?? {}),
        stream: (status: number) => (status === 200 ? new Gathering(stream) : undefined),
        interpret: (answered: Answered) => readingOf(stream, answered),
      }
      return operation.caller === 'profile'
        ? authorized.asProfile(target, call)
        : authorized.asAccount({ ...call, externalId: target.externalId })
    },
  }
}

function writings({ authorized }: Parts) {
  const write = (operation: Operation): Write => {
    return (profile, item, options) =>
      authorized.asProfile(profile, { operation, ...options, body: textOf(item), interpret: answerOf(undefined) })
  }
  return {
    uploadLogs: (profile: ProfileName, items: Items, options: CallOptions) =>
      authorized.asProfile(profile, {
        operation: operations.uploadLogs,
        ...options,
        body: batchOf(items),
        interpret: answerOf(uploadReadingSchema),
      }),
    uploadTags: (profile: ProfileName, items: Items, options: CallOptions) =>
      authorized.asProfile(profile, {
        operation: operations.uploadTags,
        ...options,
        body: batchOf(items),
        interpret: listOf,
      }),
    uploadTagsOf: ({ externalId }: ProfileName, items: Items, options: CallOptions) =>
      authorized.asAccount({
        operation: operations.uploadTagsOf,
        externalId,
        ...options,
        body: batchOf(items),
        interpret: listOf,
      }),
    replaceDemographic: write(operations.replaceDemographic),
    updateDemographic: write(operations.updateDemographic),
    updateDeviceInformation: write(operations.updateDeviceInformation),
  }
}

/** One request takes what `cutBatches` cuts; a single item may be as large as it is, for upstream to judge. */
function batchOf(items: Items): string {
  const [joined, count] = 'joined' in items ? [items.joined, items.count] : [items.map(textOf).join(','), items.length]
  const body = `[${joined}]`
  const tooLarge = count > 1 && Buffer.byteLength(body) > BATCH_BYTES_MAX
  if (count > ITEMS_PER_BATCH_MAX || tooLarge) {
    throw new RangeError(
      `upload batch: more than ${ITEMS_PER_BATCH_MAX} items or ${BATCH_BYTES_MAX} bytes; cut it with cutBatches`,
    )
  }
  return body
}
