import { type ReceivedUpload, receivedUploadSchema } from '../../base/contract/data-log.ts'
import { type Operation, operations } from '../../base/contract/operations.ts'
import { BATCH_BYTES_MAX, ITEMS_PER_BATCH_MAX } from '../transfer/parcel.ts'
import type { ProfileIds } from '../transfer/planned-profile.ts'
import type { PushedList, PushedStream } from '../transfer/stream.ts'
import type { AuthorizedSender } from './authorized-sender.ts'
import { bodyParserOf, parseListBody } from './parse-body.ts'
import { itemTextOf, type PushItem, type PushItems } from './push-items.ts'
import type { CallOptions, TimedResponse } from './sender.ts'

type PushBatch<T> = (profile: ProfileIds, items: PushItems, options: CallOptions) => Promise<T>
type PushObject = (profile: ProfileIds, body: PushItem, options: CallOptions) => Promise<unknown>

/** The operations that push, by the names of the contract; and by the rows of the catalogue, `pushItems` and `pushSnapshot`. */
export type PushOperations = {
  readonly uploadLogs: PushBatch<ReceivedUpload>
  readonly uploadTags: PushBatch<readonly unknown[]>
  readonly uploadTagsOf: PushBatch<readonly unknown[]>
  readonly replaceDemographic: PushObject
  readonly updateDemographic: PushObject
  readonly updateDeviceInformation: PushObject
  /** Sends one batch to where the stream's row says. */
  pushItems(
    profile: ProfileIds,
    batch: { readonly stream: Pick<PushedList, 'operation' | 'answer' | 'schema'>; readonly items: PushItems },
    options: CallOptions,
  ): Promise<unknown>
  /** Sends one object, or an update of it, by an operation of the stream's row. */
  pushSnapshot(
    profile: ProfileIds,
    snapshot: { readonly operation: Operation; readonly schema: PushedStream['schema']; readonly body: PushItem },
    options: CallOptions,
  ): Promise<unknown>
}

type Pushed<T> = {
  readonly operation: Operation
  readonly profile: ProfileIds
  readonly body: string
  readonly fields?: readonly string[] | undefined
  readonly parse: (answered: TimedResponse) => T
}

export function createPushOperations({ authorized }: { authorized: AuthorizedSender }): PushOperations {
  /** The operation says by whose token it is called. */
  const push = <T>({ operation, profile, body, fields, parse }: Pushed<T>, options: CallOptions): Promise<T> =>
    operation.caller === 'profile'
      ? authorized.asProfile(profile, { operation, ...options, body, fields, parse })
      : authorized.asAccount({ operation, externalId: profile.externalId, ...options, body, fields, parse })
  const pushBatch =
    <T>(operation: Operation, parse: (answered: TimedResponse) => T): PushBatch<T> =>
    (profile, items, options) =>
      push({ operation, profile, body: batchBodyOf(items), parse }, options)
  const pushObject =
    (operation: Operation, fields?: readonly string[]): PushObject =>
    (profile, body, options) =>
      push({ operation, profile, body: itemTextOf(body), fields, parse: bodyParserOf(undefined) }, options)
  return {
    uploadLogs: pushBatch(operations.uploadLogs, bodyParserOf(receivedUploadSchema)),
    uploadTags: pushBatch(operations.uploadTags, parseListBody),
    uploadTagsOf: pushBatch(operations.uploadTagsOf, parseListBody),
    replaceDemographic: pushObject(operations.replaceDemographic),
    updateDemographic: pushObject(operations.updateDemographic),
    updateDeviceInformation: pushObject(operations.updateDeviceInformation),
    async pushItems(profile, { stream: { operation, answer, schema }, items }, options) {
      const parse = answer ? bodyParserOf(answer) : bodyParserOf(undefined)
      return push({ operation, profile, body: batchBodyOf(items), fields: Object.keys(schema.shape), parse }, options)
    },
    pushSnapshot: (profile, { operation, schema, body }, options) =>
      pushObject(operation, Object.keys(schema.shape))(profile, body, options),
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
