import { getEventListeners } from 'node:events'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createSemaphore, type Release, type Semaphore } from '../../src/base/semaphore.ts'

type Seeker = { readonly group: string; readonly signal?: AbortSignal; readonly isShort?: boolean }

/** Seekers named by their group and a number. Those that got a permit stand in `admitted`, in this order. */
function openSemaphore(permits: number, groupMax?: (seeker: Seeker) => number) {
  const semaphore: Semaphore<Seeker> = createSemaphore<string, Seeker>(groupMax ? { permits, groupMax } : { permits })
  const admitted: string[] = []
  const releases = new Map<string, Release>()
  const ask = async (name: string, more: Omit<Seeker, 'group'> = {}) => {
    const release = await semaphore.acquire({ group: name.slice(0, 1), ...more })
    if (!release) return false
    admitted.push(name)
    releases.set(name, release)
    return true
  }
  const end = async (name: string) => {
    releases.get(name)?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { close: semaphore.close, ask, end, admitted }
}

const settle = () => new Promise((resolve) => setImmediate(resolve))

describe('a semaphore', () => {
  test('gives no more permits than it has, and the next one to the seeker that waits longest', async () => {
    const { ask, end, admitted } = openSemaphore(2)
    for (const name of ['a1', 'a2', 'a3', 'a4', 'a5']) void ask(name)
    await settle()
    expect(admitted).toEqual(['a1', 'a2'])

    await end('a2')
    expect(admitted).toEqual(['a1', 'a2', 'a3'])
    await end('a1')
    await end('a3')
    expect(admitted).toEqual(['a1', 'a2', 'a3', 'a4', 'a5'])
  })
  test('goes from group to group, so that a crowd of one does not delay the others', async () => {
    const { ask, end, admitted } = openSemaphore(1)
    for (const name of ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1']) void ask(name)
    await settle()
    for (let turn = 0; turn < 6; turn += 1) await end(admitted.at(-1) ?? '')

    expect(admitted).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4'])
  })
  test('leaves a permit to other groups where a group may have fewer, and gives back every permit', async () => {
    const { ask, end, admitted } = openSemaphore(3, () => 2)
    for (const name of ['a1', 'a2', 'a3', 'a4', 'b1']) void ask(name)
    await settle()
    expect(admitted).toEqual(['a1', 'a2', 'b1'])

    await end('b1')
    expect(admitted).toEqual(['a1', 'a2', 'b1'])
    await end('a1')
    await end('a2')
    expect(admitted).toEqual(['a1', 'a2', 'b1', 'a3', 'a4'])
    for (const name of ['a3', 'a4']) await end(name)
    expect(await Promise.all([ask('b2'), ask('b3'), ask('c1')])).toEqual([true, true, true])
  })
  test('lets a seeker pass those of its group that may not have a permit yet', async () => {
    const { ask, end, admitted } = openSemaphore(4, ({ isShort }) => (isShort ? 3 : 1))
    void ask('a1')
    void ask('a2')
    for (const name of ['a3', 'a4', 'a5']) void ask(name, { isShort: true })
    await settle()
    expect(admitted).toEqual(['a1', 'a3', 'a4'])

    await end('a4')
    expect(admitted).toEqual(['a1', 'a3', 'a4', 'a5'])
    for (const name of ['a3', 'a5', 'a1']) await end(name)
    expect(admitted).toEqual(['a1', 'a3', 'a4', 'a5', 'a2'])
  })
  test('gives a seeker whose signal aborts no permit, and the permit that comes back to the next', async () => {
    const { ask, end, admitted } = openSemaphore(1)
    await ask('a1')
    const lost = new AbortController()
    const answers: Array<[string, boolean]> = []
    for (const [name, more] of [
      ['b1', { signal: lost.signal }],
      ['c1', {}],
    ] as const)
      void ask(name, more).then((isAdmitted) => answers.push([name, isAdmitted]))
    lost.abort()
    await settle()
    expect(answers).toEqual([['b1', false]])
    await end('a1')

    expect(answers).toEqual([
      ['b1', false],
      ['c1', true],
    ])
    expect(admitted).toEqual(['a1', 'c1'])
  })
  test('lets a seeker whose signal aborted before it asked wait for nothing', async () => {
    const { ask } = openSemaphore(1)
    await ask('a1')

    expect(await ask('a2', { signal: AbortSignal.abort() })).toBe(false)
  })
  test('leaves a seeker its permit when its signal aborts later', async () => {
    const { ask, end, admitted } = openSemaphore(1)
    const { signal, abort } = signalToAbort()
    await ask('a1')
    void ask('a2', { signal })
    void ask('a3')
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
    await end('a1')
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
    abort()

    expect(admitted).toEqual(['a1', 'a2'])
    await end('a2')
    expect(admitted).toEqual(['a1', 'a2', 'a3'])
  })
  test('takes a permit back once, however often it is given back', async () => {
    const { ask, end, admitted } = openSemaphore(1)
    for (const name of ['a1', 'b1', 'c1']) void ask(name)
    await settle()
    for (let time = 0; time < 3; time += 1) await end('a1')
    expect(admitted).toEqual(['a1', 'b1'])

    await end('b1')
    expect(admitted).toEqual(['a1', 'b1', 'c1'])
  })
  test('gives no permit after it is closed, to none of those that wait either', async () => {
    const { ask, close, end } = openSemaphore(1)
    await ask('a1')
    const waiting = [ask('a2'), ask('b1')]
    close()

    expect(await Promise.all(waiting)).toEqual([false, false])
    await end('a1')
    expect(await ask('a3')).toBe(false)
  })
})

function signalToAbort() {
  const controller = new AbortController()
  return { signal: controller.signal, abort: () => controller.abort() }
}

/** The order of a semaphore said in the plainest way: groups wait in a row, seekers in a row within their group. */
function orderedBy(permits: number, maxOf: (isShort: boolean) => number) {
  const rows: Array<{ readonly group: string; readonly names: string[] }> = []
  const holders: string[] = []
  const admitted: string[] = []
  const shorts = new Set<string>()
  const groupOf = (name: string) => name.slice(0, 1)
  const mayTake = (name: string) =>
    holders.length < permits &&
    holders.filter((holder) => groupOf(holder) === groupOf(name)).length < maxOf(shorts.has(name))
  const admit = (name: string) => {
    holders.push(name)
    admitted.push(name)
  }
  const leave = (name: string) => {
    const row = rows.find(({ group }) => group === groupOf(name))
    if (!row) return
    row.names.splice(row.names.indexOf(name), 1)
    if (row.names.length === 0) rows.splice(rows.indexOf(row), 1)
  }
  return {
    admitted,
    holders,
    waiting: () => rows.flatMap(({ names }) => names),
    ask(name: string, isShort: boolean) {
      if (isShort) shorts.add(name)
      if (mayTake(name)) return admit(name)
      const row = rows.find(({ group }) => group === groupOf(name))
      if (row) row.names.push(name)
      else rows.push({ group: groupOf(name), names: [name] })
    },
    leave,
    end(name: string) {
      holders.splice(holders.indexOf(name), 1)
      for (;;) {
        const row = rows.find(({ names }) => names.some(mayTake))
        const next = row?.names.find(mayTake)
        if (!row || next === undefined) return
        leave(next)
        if (row.names.length > 0) rows.push(...rows.splice(rows.indexOf(row), 1))
        admit(next)
      }
    },
  }
}

const step = fc.record({
  kind: fc.constantFrom('ask', 'ask', 'ask', 'end', 'end', 'give up'),
  group: fc.constantFrom('a', 'b', 'c'),
  isShort: fc.boolean(),
  number: fc.nat(),
})

test('permits go from group to group, and to the longest waiting that may have one, also while seekers give up', () =>
  fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.array(step, { minLength: 10, maxLength: 60 }),
      async (permits, steps) => {
        const maxOf = (isShort: boolean) => (isShort ? permits : Math.max(1, permits - 1))
        const { ask, end, admitted } = openSemaphore(permits, ({ isShort }) => maxOf(isShort ?? false))
        const expected = orderedBy(permits, maxOf)
        const signals = new Map<string, ReturnType<typeof signalToAbort>>()
        for (const [index, { kind, group, isShort, number }] of steps.entries()) {
          const rows = { ask: [`${group}${index}`], end: expected.holders, 'give up': expected.waiting() }
          const name = rows[kind][number % rows[kind].length]
          if (name === undefined) continue
          if (kind === 'ask') {
            signals.set(name, signalToAbort())
            expected.ask(name, isShort)
            void ask(name, { isShort, signal: signals.get(name)?.signal ?? AbortSignal.abort() })
          } else if (kind === 'end') {
            expected.end(name)
            await end(name)
          } else {
            expected.leave(name)
            signals.get(name)?.abort()
          }
          await settle()
          expect(admitted).toEqual(expected.admitted)
        }
      },
    ),
    { numRuns: 300, seed: 40 },
  ))
