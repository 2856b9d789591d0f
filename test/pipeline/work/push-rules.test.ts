import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { Halted, NotThere, Rejected, RetryLater, Unanswered } from '../../../src/base/errors.ts'
import type { JobCounts } from '../../../src/pipeline/transfer/order.ts'
import {
  ITEMS_PER_BATCH_MAX,
  type Parcel,
  type PushedParcels,
  type RefusedItem,
} from '../../../src/pipeline/transfer/parcel.ts'
import type { PushedSnapshot, PushedStream } from '../../../src/pipeline/transfer/stream.ts'
import type { JobContext } from '../../../src/pipeline/work/job.ts'
import { pushWaiting } from '../../../src/pipeline/work/push.ts'
import { adaPlanned, contextWith, partOf } from '../../support/job-context.ts'
import { dataLogs, pushedByName } from '../../support/stream-by-name.ts'

function parcelOf(id: string, items: readonly string[], more: Partial<Parcel> = {}): Parcel {
  const body = items.join(',')
  const sizes = items.map((item) => Buffer.byteLength(item)).join(',')
  const size = { bytes: Buffer.byteLength(body), sizes, takenOut: [], waiting: items.length }
  return { id, body, ...size, mode: 'patch', startAtMs: 0, endAtMs: 1, ...more }
}

const numbers = (from: number, count: number) => Array.from({ length: count }, (_, index) => `${from + index}`)

/** More than any story here takes. */
const REQUESTS_MAX = 50

type Sent = { body: string; options: object }
type Take = (items: readonly unknown[], number: number) => Error | undefined
type Stage = {
  streams?: readonly PushedStream[]
  /** The waiting parcels, in pages as the outbox gives them. */
  pages: ReadonlyArray<readonly Parcel[]>
  take?: Take
  known?: Record<string, unknown>
}

/** Pushes what waits of Ada, and notes each request, and what became of the parcels. */
async function push({ streams = [dataLogs], pages, take = () => undefined, known }: Stage) {
  const sent: Sent[] = []
  const acts: string[] = []
  const refused: RefusedItem[] = []
  const runs: unknown[] = []
  let page = 0
  const noteSent = (body: string, options: object) => {
    sent.push({ body, options })
    if (sent.length > REQUESTS_MAX) throw new Error('the same is sent again and again')
    const error = take(JSON.parse(body.startsWith('[') ? body : `[${body}]`), sent.length)
    acts.push(error ? `${error.name}` : 'accepted')
    if (error) throw error
  }
  const idsOf = ({ parcels }: PushedParcels) => parcels.map(({ id }) => id).join(' ')
  const context = contextWith({
    upstream: partOf<JobContext['upstream']>({
      async pushItems(_, { items }, options) {
        noteSent(`[${'joined' in items ? items.joined : ''}]`, options)
      },
      async pushSnapshot(_, { operation, body }, options) {
        acts.push(operation.name)
        noteSent(typeof body === 'string' ? body : JSON.stringify(body), options)
      },
    }),
    outbox: partOf<JobContext['outbox']>({
      async readWaiting() {
        page += 1
        return { parcels: pages[page - 1] ?? [], more: page < pages.length }
      },
      async markSent(pushed, runId) {
        await turn()
        acts.push(`sent ${idsOf(pushed)}`)
        runs.push(runId)
      },
      async markKnown(pushed) {
        await turn()
        acts.push(`known ${idsOf(pushed)}`)
      },
      lastSnapshot: async () => known,
      async quarantineRefused({ profileId, stream, parcels }, items) {
        await turn()
        expect([profileId, stream]).toEqual(['7', streams[0]?.name])
        expect(items.every(({ parcelId }) => parcels.some(({ id }) => id === parcelId))).toBe(true)
        acts.push(`quarantined ${items.map(({ body }) => body).join(' ')}`)
        refused.push(...items)
      },
    }),
  })
  const ended = await pushWaiting({ ...adaPlanned, waiting: streams }, context).catch((error: unknown) => error)
  return { ended: ended as Partial<JobCounts>, sent, acts, refused, runs, signal: context.signal }
}

const at = (status: number, details: Rejected['details'] = []) => new Rejected('no', { status, details })
const naming = (...indexes: number[]) =>
  at(
    400,
    indexes.map((index) => ({ path: `[${index}].value`, reasons: ['is odd', 'is low'] })),
  )
const busy = new RetryLater('busy', { waitMs: 1 })

describe('an answer to a push', () => {
  const quarantines = [at(400), at(413), at(422)]
  const saysNothingOfItems = [
    ...[401, 402, 403, 405, 409, 411, 414, 415, 421, 423, 431, 0, 302].map((status) => at(status)),
    new NotThere('no'),
    new NotThere('no', { removed: true }),
    new Unanswered('lost'),
    new Halted('halted'),
    busy,
    new TypeError('a bug'),
  ]
  test('that refuses the items quarantines the item, with its reason, and no other answer does', async () => {
    const snapshot = pushedByName('demographics')
    for (const streams of [[dataLogs], [snapshot]]) {
      for (const error of quarantines) {
        const { ended, refused, acts } = await push({
          streams,
          pages: [[parcelOf('p', ['{"a":1}'])]],
          take: () => error,
        })
        expect(ended).toMatchObject({ requests: 1, refused: 1, itemsPushed: 0 })
        expect(refused).toEqual([expect.objectContaining({ parcelId: 'p', place: 0, body: '{"a":1}', reason: 'no' })])
        expect(acts.some((act) => act.startsWith('sent'))).toBe(false)
      }
      for (const error of saysNothingOfItems) {
        const { ended, refused, acts } = await push({
          streams,
          pages: [[parcelOf('p', ['{"a":1}'])]],
          take: () => error,
        })
        expect(ended).toBe(error)
        expect(refused).toEqual([])
        expect(acts.some((act) => act.startsWith('sent'))).toBe(false)
      }
    }
  })

  test('that names items quarantines those, and sends the others again in one request', async () => {
    const { ended, acts, sent, refused } = await push({
      pages: [[parcelOf('p', ['1', '2', '3']), parcelOf('q', ['4', '5'])]],
      take: (items) => (items.includes(2) ? naming(1, 4) : undefined),
    })

    expect(sent.map(({ body }) => body)).toEqual(['[1,2,3,4,5]', '[1,3,4]'])
    expect(acts).toEqual(['Rejected', 'quarantined 2 5', 'accepted', 'sent p q'])
    expect(refused.map(({ parcelId, place, path, reason }) => [parcelId, place, path, reason])).toEqual([
      ['p', 1, '[1]', 'value: is odd; value: is low'],
      ['q', 1, '[4]', 'value: is odd; value: is low'],
    ])
    expect(ended).toEqual({ requests: 2, unchanged: 0, rowsRead: 0, rowsWritten: 0, itemsPushed: 3, refused: 2 })
  })

  test('that names all items sends none again', async () => {
    const { acts } = await push({ pages: [[parcelOf('p', ['1', '2'])]], take: () => naming(0, 1) })

    expect(acts).toEqual(['Rejected', 'quarantined 1 2'])
  })

  test.for([
    ['none', at(400)],
    ['one that was not sent', naming(7)],
  ] as const)('that names %s is bisected until the bad item stands alone', async ([, error]) => {
    const { acts, sent, ended } = await push({
      pages: [[parcelOf('p', numbers(0, 5))]],
      take: (items) => (items.includes(3) ? error : undefined),
    })

    expect(sent.map(({ body }) => body)).toEqual(['[0,1,2,3,4]', '[0,1,2]', '[3,4]', '[3]', '[4]'])
    expect(acts.filter((act) => act.startsWith('quarantined'))).toEqual(['quarantined 3'])
    expect(acts.at(-1)).toBe('sent p')
    expect(ended).toMatchObject({ requests: 5, itemsPushed: 4, refused: 1 })
  })

  test('that refuses all of a parcel leaves that parcel unmarked', async () => {
    const { acts } = await push({
      pages: [[parcelOf('bad', ['1', '2']), parcelOf('good', ['3'])]],
      take: (items) => (items.includes(1) ? naming(0, 1) : undefined),
    })

    expect(acts.at(-1)).toBe('sent good')
  })
})

test('items accepted before a failure are marked sent, with their run, and the failure is thrown', async () => {
  const full = numbers(0, ITEMS_PER_BATCH_MAX)
  const { ended, acts, runs } = await push({
    pages: [[parcelOf('a', full), parcelOf('b', full), parcelOf('c', full)]],
    take: (_, number) => (number === 3 ? busy : undefined),
  })

  expect(ended).toBe(busy)
  expect(acts).toEqual(['accepted', 'accepted', 'RetryLater', 'sent a b'])
  expect(runs).toEqual(['9'])
})

test('page after page is pushed while more waits, stream after stream, by lane and signal', async () => {
  const { ended, sent, acts, runs, signal } = await push({
    pages: [[parcelOf('a', ['1'])], [parcelOf('b', ['2', '3'])], []],
  })

  expect(acts).toEqual(['accepted', 'sent a', 'accepted', 'sent b'])
  expect(runs).toEqual(['9', '9'])
  expect(ended).toMatchObject({ requests: 2, itemsPushed: 3 })
  for (const { options } of sent) expect(options).toEqual({ lane: 'manual', signal })
})

describe('a snapshot', () => {
  const merging = pushedByName('demographics') as PushedSnapshot
  const lastWins = pushedByName('device-information') as PushedSnapshot
  const nameOf = (stream: PushedSnapshot, which: 'replace' | 'patch') =>
    which === 'replace' || stream.merge === 'last-wins' ? stream.replace.name : stream.patch.name

  test.for<[string, PushedSnapshot, Partial<Parcel>, Record<string, unknown> | undefined, 'replace' | 'patch', object]>(
    [
      ['an update: what differs', merging, {}, { age: 3, height: 9 }, 'patch', { weight: 5 }],
      ['an update of what was never given', merging, {}, undefined, 'patch', { age: 3, weight: 5 }],
      ['a whole one: all of it', merging, { mode: 'put' }, { age: 3 }, 'replace', { age: 3, weight: 5 }],
      ['one of which the last wins: all of it', lastWins, {}, { age: 3 }, 'replace', { age: 3, weight: 5 }],
    ],
  )('of %s is sent', async ([, stream, more, known, which, body]) => {
    const parcel = parcelOf('s', ['{"age":3,"weight":5}'], more)
    const { acts, sent, runs, ended, signal } = await push({
      streams: [stream],
      pages: [[parcel]],
      ...(known ? { known } : {}),
    })

    expect(acts).toEqual([nameOf(stream, which), 'accepted', 'sent s'])
    expect(JSON.parse(sent[0]?.body ?? '')).toEqual(body)
    expect(sent[0]?.options).toEqual({ lane: 'manual', signal })
    expect(runs).toEqual(['9'])
    expect(ended).toMatchObject({ requests: 1, itemsPushed: 1 })
  })

  test('without a difference is known upstream: nothing is sent, and nothing counted', async () => {
    const parcel = parcelOf('s', ['{"age":3}'])
    const { acts, ended } = await push({ streams: [merging], pages: [[parcel]], known: { age: 3, weight: 5 } })

    expect(acts).toEqual(['known s'])
    expect(ended).toMatchObject({ requests: 0, itemsPushed: 0 })
  })

  test('counts as one request each time, also right after another one', async () => {
    const pages = [[parcelOf('s', ['{"age":3}']), parcelOf('t', ['{"age":4}'])]]
    const { ended } = await push({ streams: [merging], pages })

    expect(ended).toMatchObject({ requests: 2, itemsPushed: 2 })
  })

  test('is refused with the words of upstream by field', async () => {
    const details = [
      { path: 'age', reasons: ['is low', 'is odd'] },
      { path: 'weight', reasons: ['is high'] },
    ]
    const { refused } = await push({
      streams: [merging],
      pages: [[parcelOf('s', ['{"age":3}'])]],
      take: () => at(422, details),
    })

    expect(refused).toEqual([
      { parcelId: 's', place: 0, body: '{"age":3}', path: '', reason: 'age: is low; age: is odd; weight: is high' },
    ])
  })
})
