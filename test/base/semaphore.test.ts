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
    const [second, third] = [ask('b1', { signal: lost.signal }), ask('c1')]
    lost.abort()
    await end('a1')

    expect(await second).toBe(false)
    expect(await third).toBe(true)
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
    const second = ask('a2', { signal })
    void ask('a3')
    await end('a1')
    abort()

    expect(await second).toBe(true)
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
