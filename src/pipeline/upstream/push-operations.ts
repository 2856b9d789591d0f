import type { Operation } from '../../base/contract/operations.ts'
import { BATCH_BYTES_MAX, ITEMS_PER_BATCH_MAX } from '../transfer/parcel.ts'
import type { ProfileIds } from '../transfer/planned-profile.ts'
import type { PushedList, PushedStream } from '../transfer/stream.ts'
import type { AuthorizedSender } from './authorized-sender.ts'
import { bodyParserOf } from './parse-body.ts'
import { itemTextOf, type PushItem, type PushItems } from './push-items.ts'
import type { CallOptions } from './sender.ts'

type Batch = { readonly stream: Pick<PushedList, 'operation' | 'answer' | 'schema'>; readonly items: PushItems }
type Snapshot = { readonly operation: Operation; readonly schema: PushedStream['schema']; readonly body: PushItem }

type Pushed = Pick<PushedList, 'operation' | 'answer' | 'schema'> & {
  readonly profile: ProfileIds
  readonly body: string
}

export function createPushOperations({ authorized }: { authorized: AuthorizedSender }) {
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
