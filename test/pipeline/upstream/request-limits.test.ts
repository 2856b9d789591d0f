import { describe, expect, test } from 'vitest'
import { pulledStreams } from '../../../config/streams.ts'
import { operations } from '../../../src/base/contract/operations.ts'
import { DAY } from '../../../src/base/time/units.ts'
import { BATCH_BYTES_MAX, ITEMS_PER_BATCH_MAX } from '../../../src/pipeline/transfer/parcel.ts'
import { createUpstreamApi } from '../../../src/pipeline/upstream/api.ts'
import type { AuthorizedSender } from '../../../src/pipeline/upstream/authorized-sender.ts'
import { RecordCollector } from '../../../src/pipeline/upstream/record-collector.ts'
import { AttemptError, type OperationCall, type Sender } from '../../../src/pipeline/upstream/sender.ts'
import { answer } from '../../support/http-answer.ts'
import { dataLogs, scores } from '../../support/stream-by-name.ts'

const ada = { profileId: '1', externalId: 'ada' }
const nightlyCall = { lane: 'nightly' } as const

type Call = Omit<OperationCall<unknown>, 'identity' | 'secrets'> & Partial<OperationCall<unknown>>

/** The interface over a sender that notes each call and answers nothing. `send`: a sender for calls without a token. */
function open(send?: Sender) {
  const calls: Call[] = []
  const callers: string[] = []
  const takeFrom = (caller: string) => async (call: Call) => {
    callers.push(caller)
    calls.push(call)
  }
  const authorized = {
    asAccount: takeFrom('account'),
    asProfile: (_: unknown, call: Call) => takeFrom('profile')(call),
  }
  const api = createUpstreamApi({
    sender: (send ?? takeFrom('nobody')) as unknown as Sender, // no answer is read
    authorized: authorized as unknown as AuthorizedSender,
    credentials: { clientId: 'id', clientSecret: 'secret' },
  })
  return { api, calls, callers }
}

const text = (bytes: number, letter = 'x') => letter.repeat(bytes / Buffer.byteLength(letter))
/** Bytes of a list of two texts beside the texts: brackets and comma. */
const LIST_BYTES = 3

describe('one request', () => {
  test.for([
    ['as many items as may be', Array(ITEMS_PER_BATCH_MAX).fill('1'), true],
    ['one item more', Array(ITEMS_PER_BATCH_MAX + 1).fill('1'), false],
    ['as many bytes as may be', [text(1000), text(BATCH_BYTES_MAX - 1000 - LIST_BYTES)], true],
    ['a byte more', [text(1000), text(BATCH_BYTES_MAX - 999 - LIST_BYTES)], false],
    ['few letters of many bytes', [text(100_000, 'é'), text(60_000, 'é')], false],
    ['one item, however large', [text(4 * BATCH_BYTES_MAX)], true],
    ['nothing', [], true],
  ] as const)('takes %s, or is refused before it is sent', async ([, items, isTaken]) => {
    for (const batch of [items, { joined: items.join(','), count: items.length }]) {
      const { api, calls } = open()
      const sent = await api.pushItems(ada, { stream: dataLogs, items: batch }, nightlyCall).then(
        () => 'sent',
        (error: Error) => error.message,
      )
      const tooLarge = `upload batch: more than ${ITEMS_PER_BATCH_MAX} items or ${BATCH_BYTES_MAX} bytes; cut it with cutBatches`
      expect(sent).toBe(isTaken ? 'sent' : tooLarge)
      expect(calls.map(({ body }) => body)).toEqual(isTaken ? [`[${items.join(',')}]`] : [])
    }
  })
})

describe('a window', () => {
  test('is asked for as it is, though the last one of its stream had the same begin or the same end', async () => {
    const { api, calls } = open()
    const windows = [
      [1, 2],
      [1, 3],
      [2, 3],
      [2, 3],
      [1, 2],
    ].map(([from = 0, to = 0]) => ({ startMs: from * DAY, endMs: to * DAY }))
    for (const window of windows) await api.read(scores, { ...ada, window }, nightlyCall)

    const instant = (ms: number) => new Date(ms).toISOString()
    expect(calls.map(({ query }) => query)).toEqual(
      windows.map((at) => `?startDateTime=${instant(at.startMs)}&endDateTime=${instant(at.endMs)}`),
    )
  })

  test.for<[number, number]>([
    [2, 2],
    [3, 2],
    [Number.NaN, 2],
  ])('a window from %i to %i is refused before anything is sent', ([startMs, endMs]) => {
    const { api, calls } = open()

    expect(() => api.read(scores, { ...ada, window: { startMs, endMs } }, nightlyCall)).toThrow(
      new RangeError(`read scores: the window would end (${endMs}) before it starts (${startMs})`),
    )
    expect(calls).toEqual([])
  })
})

test('each stream is read by the caller that its operation names', async () => {
  for (const stream of pulledStreams) {
    const { api, callers } = open()
    await api.read(stream, ada, nightlyCall)

    expect(callers, stream.name).toEqual([stream.operation.caller])
  }
})

test('the body of a read with the status 200 is collected while it comes, and an unchanged answer is about the held tag', async () => {
  const { api, calls } = open()
  await api.read(scores, { ...ada, heldTag: '"held"' }, nightlyCall)
  const [call] = calls
  const unchanged = { response: answer(304), kind: 'unchanged', sentAtMs: 7 } as const

  expect(call?.sinkFor?.(200)).toBeInstanceOf(RecordCollector)
  expect([204, 304, 404].map((status) => call?.sinkFor?.(status))).toEqual([undefined, undefined, undefined])
  expect(call?.parse(unchanged)).toMatchObject({ unchanged: true, tag: '"held"' })
})

test('profiles are deleted by their names', async () => {
  const { api, calls } = open()
  await api.deleteProfiles(['ada', 'bob'], nightlyCall)

  expect(calls.map(({ body }) => body)).toEqual(['{"externalIds":["ada","bob"]}'])
})

test('a call that brings its own credentials has no token to renew: its 401 is a refusal', async () => {
  const { api } = open(() => Promise.reject(new AttemptError({ kind: 'renew' })))
  const message = 'call accountToken: upstream refuses (status 401)'

  await expect(api.accountToken(nightlyCall)).rejects.toMatchObject({ name: 'Rejected', status: 401, message })
})

test('the secret texts of a call are listed with the call', async () => {
  const { api, calls } = open()
  await api.accountToken(nightlyCall)
  await api.refreshToken({ profileToken: 'p', refreshToken: 'r' }, nightlyCall)

  expect(calls.map(({ operation, secrets }) => [operation.name, secrets])).toEqual([
    ['accountToken', ['secret', 'id']],
    ['refreshToken', ['r', 'p']],
  ])
})

test('lane and signal of the caller reach every operation', async () => {
  const { api, calls } = open()
  const options = { lane: 'backfill', signal: AbortSignal.timeout(60_000) } as const
  const body = { age: 3 }
  await Promise.all([
    api.accountToken(options),
    api.register('ada', options),
    api.profileToken({ externalId: 'ada' }, options),
    api.refreshToken({ profileToken: 'p', refreshToken: 'r' }, options),
    api.profile('ada', options),
    api.searchProfiles({ currentPage: 1, pageSize: 1 }, options),
    api.deleteProfiles(['ada'], options),
    api.read(scores, ada, options),
    api.pushItems(ada, { stream: dataLogs, items: [] }, options),
    api.pushSnapshot(ada, { operation: operations.updateDemographic, schema: dataLogs.schema, body }, options),
  ])

  expect(calls).toHaveLength(10)
  for (const call of calls) expect(call, call.operation.name).toMatchObject(options)
})
