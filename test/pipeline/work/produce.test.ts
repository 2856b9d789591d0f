import { describe, expect, test, vi } from 'vitest'
import { SECOND } from '../../../src/base/time/units.ts'
import type { Order } from '../../../src/pipeline/transfer/order.ts'
import { PartialOutage } from '../../../src/pipeline/warehouse/postgres/sql-errors.ts'
import { produced, productionOf } from '../../support/produce-stage.ts'

describe('a run', () => {
  test.for<[readonly string[], readonly string[]]>([
    [[], []],
    [['1'], ['1']],
    [['1', '2'], ['1 2']],
    [
      ['1', '2', '3'],
      ['1 2', '3'],
    ],
    [
      ['8', '9', '10', '11'],
      ['8 9', '10 11'],
    ],
  ])('of %o is enqueued page by page, each page recorded before, then ended and given back', async ([due, pages]) => {
    const { ended, acts } = await produced({ due })

    expect(acts).toEqual([
      ...pages.flatMap((page) => {
        const last = page.split(' ').at(-1)
        return [`recorded ${page} to ${last}`, `enqueued ${page} in manual`]
      }),
      'ended',
      `released at ${due.at(-1) ?? '0'}`,
    ])
    expect(ended).toEqual({ enqueued: due.length, isLast: true })
  })
})

describe('the orders that a former producer recorded and perhaps did not enqueue', () => {
  test.for<[string, string, readonly string[]]>([
    ['9', '10', ['10']],
    ['10', '10', []],
    ['0', '12', ['9 10', '11 12']],
    ['99', '100', ['100']],
    ['2', '100', ['9 10', '11 12', '99 100']],
  ])('from %s to %s are enqueued first', async ([enqueuedTo, afterId, pages]) => {
    const known = ['9', '10', '11', '12', '99', '100']
    const uncertain = known.filter((id) => Number(id) <= Number(afterId))
    const { acts, ended } = await produced({ uncertain, productions: [productionOf({ enqueuedTo, afterId })] })

    const enqueued = pages.map((page) => `enqueued ${page} in manual`)
    expect(acts).toEqual([...enqueued, 'ended', `released at ${afterId}`])
    expect(ended).toEqual({ enqueued: pages.join(' ').split(' ').filter(Boolean).length, isLast: true })
  })
})

test('open orders are enqueued as they were recorded, whatever the run would order today', async () => {
  const enqueued: Order[] = []
  const enqueue = async (orders: readonly Order[]) => void enqueued.push(...orders)
  await produced({ open: ['1'], due: ['2'], enqueue })

  expect(enqueued).toEqual([
    { runId: '9', profileId: '1', job: 'sync-profile', params: { of: 'the order' } },
    { runId: '9', profileId: '2', job: 'sync-profile', params: {} },
  ])
})

test('when all recorded orders are enqueued, none is looked for again', async () => {
  const listUncertainOrders = () => Promise.reject(new Error('looked for'))
  const { ended } = await produced({
    productions: [productionOf({ enqueuedTo: '10', afterId: '10' })],
    runs: { listUncertainOrders },
  })

  expect(ended).toEqual({ enqueued: 0, isLast: true })
})

describe('a run is given back', () => {
  const failure = new Error('the queue is away')
  const nodeAway = new PartialOutage('node', { cause: failure })

  test('when its page cannot be enqueued, as far as was enqueued', async () => {
    const enqueue = async ([order]: readonly Order[]) => {
      if (order?.profileId === '3') throw failure
    }
    const { ended, acts } = await produced({ due: ['1', '2', '3'], enqueue })

    expect(ended).toBe(failure)
    expect(acts.slice(-2)).toEqual(['recorded 3 to 3', 'released at 2'])
  })

  test('when its page cannot be recorded, and nothing of it is enqueued', async () => {
    const { ended, acts } = await produced({ due: ['1'], runs: { recordOrders: () => Promise.reject(failure) } })

    expect(ended).toBe(failure)
    expect(acts).toEqual(['released at 0'])
  })

  test('when another process has it by now, and nothing of the page is enqueued', async () => {
    const { ended, acts } = await produced({ due: ['1'], runs: { recordOrders: async () => false } })

    expect(ended).toEqual({ enqueued: 0, isLast: false })
    expect(acts).toEqual(['released at 0'])
  })

  test('when some people cannot be reached, and is taken again after a pause of 5 s', async () => {
    let turns = 0
    const recordOrders = async () => {
      turns += 1
      if (turns === 1) throw nodeAway
      return true
    }
    const productions = [productionOf(), productionOf()]
    const { signal } = new AbortController()
    const { ended, acts, slept } = await produced({
      due: ['1'],
      productions,
      runs: { recordOrders },
      context: { signal },
    })

    expect(acts).toEqual(['released at 0', 'waited 5000', 'enqueued 1 in manual', 'ended', 'released at 1'])
    expect(ended).toEqual({ enqueued: 1, isLast: true })
    expect(slept).toEqual([signal])
  })

  test('before the producer ends', async () => {
    let isReleased = false
    const releaseProduction = async () => {
      await new Promise(setImmediate)
      isReleased = true
    }
    await produced({ due: ['1'], runs: { releaseProduction } })

    expect(isReleased).toBe(true)
  })

  test('and a release that fails hides no failure and no success', async () => {
    const releaseProduction = () => Promise.reject(new Error('away'))
    const enqueue = () => Promise.reject(failure)

    expect((await produced({ due: ['1'], runs: { releaseProduction } })).ended).toMatchObject({ enqueued: 1 })
    expect((await produced({ due: ['1'], runs: { releaseProduction }, enqueue })).ended).toBe(failure)
  })
})

test('a run is renewed each ten seconds while it is held, also where a renewal fails, and not after', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  let renewals = 0
  const renewProduction = async () => {
    renewals += 1
    if (renewals === 2) throw new Error('away')
  }
  const enqueue = async () => {
    await vi.advanceTimersByTimeAsync(31 * SECOND)
  }
  await produced({ due: ['1'], runs: { renewProduction }, enqueue })
  expect(renewals).toBe(3)
  await vi.advanceTimersByTimeAsync(60 * SECOND)
  vi.useRealTimers()

  expect(renewals).toBe(3)
})
