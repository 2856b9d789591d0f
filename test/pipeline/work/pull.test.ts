import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { Halted, NotThere, Rejected, RetryLater, Unanswered } from '../../../src/base/errors.ts'
import { DAY, HOUR } from '../../../src/base/time/units.ts'
import type { DueWindow, Reading, UpstreamAnswer } from '../../../src/pipeline/transfer/reading.ts'
import type { StoreResult } from '../../../src/pipeline/warehouse/readings/store-group.ts'
import type { JobContext } from '../../../src/pipeline/work/job.ts'
import { pullDue } from '../../../src/pipeline/work/pull.ts'
import { adaPlanned, contextWith, dueDays, readingOf } from '../../support/job-context.ts'
import { scores } from '../../support/stream-by-name.ts'

type Stage = {
  /** The answer to the read of a window; an error is thrown. `tries` counts the reads of this window, from 1. */
  read?: (day: number, tries: number) => Partial<UpstreamAnswer> | Error
  store?: (day: number, tries: number) => Partial<StoreResult> | Error
  context?: Partial<JobContext>
  /** The error in which each pause ends. */
  pauseEnds?: Error
}

/** Pulls days for Ada, and notes each read, each reading stored, each refusal recorded and each pause. */
async function pull(due: readonly DueWindow[], { read, store, context = {}, pauseEnds }: Stage) {
  const seen = {
    reads: [] as Array<{ day: number; heldTag: string | undefined; options: object }>,
    stored: [] as Reading[],
    refusals: [] as object[],
    pauses: [] as Array<{ ms: number; signal: AbortSignal }>,
    atOnceMost: 0,
  }
  let underWay = 0
  const outcomeOf = <T>(given: T | Error): T => {
    if (given instanceof Error) throw given
    return given
  }
  const times = (of: readonly number[], day: number) => of.filter((readDay) => readDay === day).length
  const given = contextWith({
    ...context,
    upstream: {
      async read(_, { window, heldTag }, options) {
        const day = Math.round((window?.startMs ?? -1) / DAY)
        seen.reads.push({ day, heldTag, options })
        underWay += 1
        seen.atOnceMost = Math.max(seen.atOnceMost, underWay)
        const tries = times(
          seen.reads.map((read) => read.day),
          day,
        )
        await turn()
        underWay -= 1
        return readingOf(outcomeOf(read?.(day, tries) ?? {}))
      },
    } as JobContext['upstream'], // nothing else of upstream is asked here
    writer: {
      async store(reading) {
        seen.stored.push(reading)
        const days = seen.stored.map(({ window }) => window.startMs / DAY)
        const day = reading.window.startMs / DAY
        return {
          outcome: 'stored',
          read: 2,
          written: 1,
          invalid: 0,
          ...outcomeOf(store?.(day, times(days, day)) ?? {}),
        }
      },
    },
    ledger: {
      plan: async () => undefined,
      recordRefusal: async (refusal) => {
        await turn()
        seen.refusals.push(refusal)
      },
    },
    pause: async (ms, signal) => {
      await turn()
      seen.pauses.push({ ms, signal })
      if (pauseEnds) throw pauseEnds
    },
  })
  const ended = await pullDue(adaPlanned, due, given).catch((error: unknown) => error)
  return { ended, signal: given.signal, ...seen }
}

const lost = new Unanswered('no answer')
const busy = new RetryLater('busy', { waitMs: 1 })
const refused = new Rejected('no', { status: 422 })
const gone = new NotThere('not known')
const halted = new Halted('halted')
const bug = new TypeError('a bug')

describe('a failure of one window', () => {
  const aborted = AbortSignal.abort()
  /** Whether it is recorded as this window's own: at the last attempt, where no abort of ours explains it. */
  const cases: Array<[string, Error, Partial<JobContext>, 'recorded' | 'thrown']> = [
    ['a refusal', refused, {}, 'recorded'],
    ['a refusal, aborted', refused, { signal: aborted }, 'recorded'],
    ['no answer', lost, {}, 'thrown'],
    ['no answer at the last attempt', lost, { lastAttempt: true }, 'recorded'],
    ['no answer at the last attempt, aborted', lost, { lastAttempt: true, signal: aborted }, 'thrown'],
    ['busy', busy, {}, 'thrown'],
    ['busy at the last attempt', busy, { lastAttempt: true }, 'thrown'],
    ['busy when waits are used up', busy, { waitsExhausted: true }, 'thrown'],
    ['busy at the last attempt when waits are used up', busy, { lastAttempt: true, waitsExhausted: true }, 'recorded'],
    ['busy then, aborted', busy, { lastAttempt: true, waitsExhausted: true, signal: aborted }, 'thrown'],
    ['not there, at the last attempt', gone, { lastAttempt: true, waitsExhausted: true }, 'thrown'],
    ['a halt, at the last attempt', halted, { lastAttempt: true, waitsExhausted: true }, 'thrown'],
    ['a bug, at the last attempt', bug, { lastAttempt: true, waitsExhausted: true }, 'thrown'],
  ]
  test.for(cases)('%s is recorded or thrown', async ([, error, context, expected]) => {
    const { ended, refusals } = await pull(dueDays(1), { read: () => error, context })

    if (expected === 'thrown') {
      expect(ended).toBe(error)
      expect(refusals).toEqual([])
      return
    }
    expect(ended).toMatchObject({ requests: 1, refused: 1, rowsRead: 0 })
    expect(refusals).toEqual([
      {
        profileId: '7',
        stream: 'scores',
        window: { startMs: 0, endMs: DAY },
        status: error === refused ? 422 : undefined,
        reason: error.message,
      },
    ])
  })

  test.for<[string, Error, number]>([
    ['no answer', lost, 12],
    ['a refusal', refused, 12],
    ['busy', busy, 4],
    ['not there', gone, 4],
    ['a halt', halted, 4],
    ['a bug', bug, 4],
  ])('%s of the first of 12 windows decides how many are read', async ([, error, reads]) => {
    // Four at once: those that are under way when the failure comes end, and no other begins.
    const { reads: read, stored } = await pull(dueDays(12), { read: (day) => (day === 0 ? error : {}) })

    expect(read).toHaveLength(reads)
    expect(stored).toHaveLength(reads - 1)
  })

  test.for<[string, readonly Error[], Error]>([
    ['not there, busy', [gone, busy], gone],
    ['busy, not there', [busy, gone], gone],
    ['no answer, not there', [lost, gone], gone],
    ['a bug, not there', [bug, gone], gone],
    ['busy, a bug', [busy, bug], bug],
    ['no answer, a halt', [lost, halted], halted],
    ['no answer, busy', [lost, busy], busy],
    ['busy, no answer', [busy, lost], busy],
    ['no answer alone', [lost, lost], lost],
  ])('of %s the one that says the most is thrown', async ([, errors, thrown]) => {
    const { ended } = await pull(dueDays(2), { read: (day) => errors[day] ?? {} })

    expect(ended).toBe(thrown)
  })

  test('of the warehouse is thrown, and is no refusal of upstream’s', async () => {
    const full = new Error('disk full')
    const { ended, refusals } = await pull(dueDays(1), { store: () => full, context: { lastAttempt: true } })

    expect(ended).toBe(full)
    expect(refusals).toEqual([])
  })
})

test.for<[number, number, number]>([
  [1, 3, 1],
  [3, 3, 3],
  [8, 3, 3],
  [2, 5, 2],
])('of %i windows at most %i are read at once: here %i', async ([windows, windowsAtOnce, most]) => {
  const settings = { historyMs: DAY, windowsAtOnce, secondReadingMs: 0 }
  const { atOnceMost, reads } = await pull(dueDays(windows), { context: { settings } })

  expect(atOnceMost).toBe(most)
  expect(reads.map(({ day }) => day)).toEqual(Array.from({ length: windows }, (_, day) => day))
})

test('each reading is stored with its window, its generation and the tag that was held, and asked for by lane and signal', async () => {
  const due = dueDays(2, { generation: 5, heldTag: '"t"' })
  const { stored, reads, signal } = await pull(due, { read: () => ({ tag: '"new"', sentAtMs: 44 }) })

  expect(stored).toEqual(
    due.map((dueWindow) => ({ profileId: '7', ...dueWindow, ...readingOf({ tag: '"new"', sentAtMs: 44 }) })),
  )
  expect(reads.map(({ heldTag }) => heldTag)).toEqual(['"t"', '"t"'])
  for (const { options } of reads) expect(options).toEqual({ lane: 'manual', signal })
})

test('counts add up over windows: requests, unchanged answers, rows, and invalid records', async () => {
  const { ended } = await pull(dueDays(3), {
    read: (day) => ({ unchanged: day === 2 }),
    store: (day) => ({ read: 10 + day, written: day, invalid: day === 1 ? 2 : 0 }),
  })

  expect(ended).toEqual({ requests: 3, unchanged: 1, rowsRead: 33, rowsWritten: 3, itemsPushed: 0, refused: 2 })
})

test('an answer about a tag that stands for nothing any more is asked for whole, at once', async () => {
  const { ended, reads, pauses } = await pull(dueDays(1, { heldTag: '"t"' }), {
    read: (_, tries) => ({ unchanged: tries === 1 }),
    store: (_, tries) => (tries === 1 ? { outcome: 'outdated', read: 0, written: 0 } : {}),
  })

  expect(reads.map(({ heldTag }) => heldTag)).toEqual(['"t"', undefined])
  expect(ended).toMatchObject({ requests: 2, unchanged: 0, rowsRead: 2 })
  expect(pauses).toEqual([])
})

describe('a reading that alone is not believed', () => {
  const suspicionsOf = (days: readonly number[], times: number) => (day: number, tries: number) =>
    days.includes(day) && tries <= times ? { outcome: 'suspicious' as const } : {}

  test('is read a second time, whole, after a pause, and is believed when the second agrees', async () => {
    const { ended, reads, pauses, refusals, signal } = await pull(dueDays(3, { heldTag: '"t"' }), {
      store: suspicionsOf([1], 1),
      context: { settings: { historyMs: DAY, windowsAtOnce: 1, secondReadingMs: HOUR } },
    })

    expect(reads.map(({ day, heldTag }) => [day, heldTag])).toEqual([
      [0, '"t"'],
      [1, '"t"'],
      [2, '"t"'],
      [1, undefined],
    ])
    expect(pauses).toEqual([{ ms: HOUR, signal }])
    expect(ended).toMatchObject({ requests: 4, rowsRead: 8, refused: 0 })
    expect(refusals).toEqual([])
  })

  test('counts as refused where the second does not agree, and only there', async () => {
    const { ended, refusals } = await pull(dueDays(4), {
      store: (day, tries) => ({ ...suspicionsOf([1, 3], 1)(day, tries), ...suspicionsOf([3], 2)(day, tries) }),
    })

    expect(ended).toMatchObject({ requests: 6, refused: 1 })
    expect(refusals).toEqual([
      {
        profileId: '7',
        stream: scores.name,
        window: { startMs: 3 * DAY, endMs: 4 * DAY },
        status: undefined,
        reason: expect.stringContaining('lack most of the stored records'),
      },
    ])
  })

  test('is not read again when the job stops within the pause', async () => {
    const stopped = new Error('stopped')
    const { ended, reads } = await pull(dueDays(1), { store: suspicionsOf([0], 1), pauseEnds: stopped })

    expect(ended).toBe(stopped)
    expect(reads).toHaveLength(1)
  })
})
