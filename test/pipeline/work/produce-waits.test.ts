import { describe, expect, test } from 'vitest'
import type { Run } from '../../../src/pipeline/warehouse/runs/stored-runs.ts'
import type { Backlog } from '../../../src/pipeline/work/producer.ts'
import { idleLane, produced, producedRun } from '../../support/produce-stage.ts'

describe('a full queue', () => {
  test.for<[Partial<Backlog>, number]>([
    [{ waiting: 10 }, 0],
    [{ waiting: 11 }, 1],
    [{ delayed: 11 }, 1],
    [{ waiting: 5, delayed: 5 }, 0],
    [{ waiting: 5, delayed: 6 }, 1],
    [{ waiting: 10, active: 99 }, 0],
  ])('%o: the number of pauses, each with a sign of life', async ([backlog, pauses]) => {
    const { acts } = await produced({ backlogs: [{ ...idleLane, ...backlog }] })
    const paused = Array(pauses).fill(['alive', 'waited 50']).flat()

    expect(acts).toEqual([...paused, 'ended', 'released at 0'])
  })

  test('is waited for before each page of everybody, and of open orders', async () => {
    const full = { ...idleLane, waiting: 11 }
    const due = await produced({ due: ['1', '2', '3'], backlogs: [idleLane, full] })
    const open = await produced({ open: ['1', '2', '3'], backlogs: [full, idleLane, full] })

    expect(due.acts.slice(0, 4)).toEqual(['recorded 1 2 to 2', 'enqueued 1 2 in manual', 'alive', 'waited 50'])
    expect(open.acts.slice(0, 6)).toEqual(
      ['alive', 'waited 50', 'enqueued 1 2 in manual'].concat(['alive', 'waited 50', 'enqueued 3 in manual']),
    )
  })

  test('is waited for no longer when the producer stops: its signal reaches the pause, and nothing more is begun', async () => {
    const stopping = new AbortController()
    const signals: unknown[] = []
    const full = Array<Backlog>(5).fill({ ...idleLane, waiting: 11 })
    const sleep = async (_: number, signal: AbortSignal) => {
      signals.push(signal)
      stopping.abort(new Error('stopping'))
    }
    const { ended, acts } = await produced({
      due: ['1'],
      backlogs: full,
      context: { signal: stopping.signal, sleep },
    })

    expect(ended).toEqual(new Error('stopping'))
    expect(signals).toEqual([stopping.signal])
    expect(acts).toEqual(['alive'])
  })
})

describe('open orders', () => {
  test('are enqueued again first, and counted', async () => {
    const { ended, acts } = await produced({ open: ['9', '10', '11'], due: ['12'] })

    expect(acts.slice(0, 3)).toEqual(['enqueued 9 10 in manual', 'enqueued 11 in manual', 'recorded 12 to 12'])
    expect(ended).toEqual({ enqueued: 4, isLast: true })
  })

  test('are all that is left of a run that was enqueued in full', async () => {
    const { ended, acts } = await produced({ open: ['1'], due: ['2'] }, { ...producedRun, enqueuedAll: true })

    expect(acts).toEqual(['enqueued 1 in manual'])
    expect(ended).toEqual({ enqueued: 1, isLast: false })
  })
})

describe('where another process has the run', () => {
  const states = (...runs: Array<Partial<Run> | undefined>) => {
    const left = [...runs]
    return { get: async () => left.shift() as Run | undefined, takeProduction: async () => undefined }
  }

  test('a process ends, and leaves the rest to it', async () => {
    const { ended, acts } = await produced({ runs: states({ state: 'running', enqueuedAll: false }) })

    expect(ended).toEqual({ enqueued: 0, isLast: false })
    expect(acts).toEqual([])
  })

  test.for<[string, Partial<Run> | undefined]>([
    ['enqueued in full', { state: 'running', enqueuedAll: true }],
    ['stopped', { state: 'stopped', enqueuedAll: false }],
    ['forgotten', undefined],
  ])('a process that waits for all looks each second until the run is %s', async ([, last]) => {
    const running = { state: 'running', enqueuedAll: false } as const
    const { signal } = new AbortController()
    const { ended, acts, slept } = await produced({
      runs: states(running, running, last),
      context: { untilAll: true, signal },
    })

    expect(acts).toEqual(['waited 1000', 'waited 1000'])
    expect(slept).toEqual([signal, signal])
    expect(ended).toEqual({ enqueued: 0, isLast: false })
  })
})
