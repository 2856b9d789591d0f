import { describe, expect, test } from 'vitest'
import { createConcurrencyLimiter } from '../../src/service/http/concurrency-limiter.ts'

describe('turns', () => {
  test('begin in the order of the requests, and no more at once than the limit', async () => {
    const turns = createConcurrencyLimiter({ concurrentMax: 2 })
    const begun: number[] = []
    let [underWay, most] = [0, 0]
    const work = (place: number) => async () => {
      begun.push(place)
      underWay += 1
      most = Math.max(most, underWay)
      await new Promise((resolve) => setImmediate(resolve))
      underWay -= 1
      return place
    }

    const places = Array.from({ length: 20 }, (_, place) => place)
    expect(await Promise.all(places.map((place) => turns.run('one', work(place))))).toEqual(places)
    expect(begun).toEqual(places)
    expect(most).toBe(2)
  })
  test('are handed on by work that fails', async () => {
    const turns = createConcurrencyLimiter({ concurrentMax: 1 })
    const fail = () => turns.run('one', async () => Promise.reject(new Error('no')))

    await expect(fail()).rejects.toThrow('no')
    await expect(Promise.all([fail(), turns.run('one', async () => 'yes')])).rejects.toThrow('no')
    expect(await turns.run('one', async () => 'yes')).toBe('yes')
  })
  test('begin one per turn of the event loop, so that other work runs in between', async () => {
    const turns = createConcurrencyLimiter({ concurrentMax: 3 })
    const seen: string[] = []
    const all = Promise.all(['a', 'b', 'c', 'd'].map((name) => turns.run('one', async () => void seen.push(name))))
    seen.push('what came after')
    await all

    expect(seen[0]).toBe('what came after')
  })
  test('are fewer for a group while another is there, and as many as before when it is gone', async () => {
    let nowMs = 0
    const turns = createConcurrencyLimiter({ concurrentMax: 4, groupMax: 3, groupMaxBesideOthers: 1, now: () => nowMs })
    const begun: string[] = []
    const flood = (name: string, until: Promise<void>) =>
      turns.run('flood', async () => {
        begun.push(name)
        await until
      })
    const first = Array.from({ length: 4 }, () => Promise.withResolvers<void>())
    const all = first.map(({ promise }, place) => flood(`f${place}`, promise))
    await turns.run('other', async () => void begun.push('o'))
    expect(begun).toEqual(['f0', 'f1', 'f2', 'o'])

    // Two of three end, and nobody follows: one at a time is what the flood has beside another.
    first[0]?.resolve()
    first[1]?.resolve()
    await Promise.all([all[0], all[1]])
    expect(begun).toHaveLength(4)

    nowMs = 2001
    first[2]?.resolve()
    first[3]?.resolve()
    await Promise.all(all)
    const later = Array.from({ length: 3 }, () => Promise.withResolvers<void>())
    const again = later.map(({ promise }, place) => flood(`g${place}`, promise))
    await expect.poll(() => begun.slice(5)).toEqual(['g0', 'g1', 'g2'])
    for (const { resolve } of later) resolve()
    await Promise.all(again)
  })
  test('of a short request may overtake long ones of its group, within the limit of the group', async () => {
    const turns = createConcurrencyLimiter({ concurrentMax: 4, groupMax: 3, groupMaxBesideOthers: 1 })
    const other = await turns.enter({ group: 'other' })
    const begun: string[] = []
    const held = Promise.withResolvers<void>()
    const guest = (name: string, isLight: boolean) =>
      turns.enter({ group: 'mine', isLight }).then(async (leave) => {
        begun.push(name)
        await held.promise
        leave?.()
      })
    const all = [guest('h1', false), guest('h2', false), guest('l1', true), guest('l2', true), guest('l3', true)]
    await expect.poll(() => begun).toEqual(['h1', 'l1', 'l2'])

    other?.()
    await turns.run('other', async () => void begun.push('o'))
    expect(begun).toEqual(['h1', 'l1', 'l2', 'o'])

    held.resolve()
    await Promise.all(all)
    expect(begun.toSorted()).toEqual(['h1', 'h2', 'l1', 'l2', 'l3', 'o'])
  })
  test('skip a waiting caller that has disconnected', async () => {
    const turns = createConcurrencyLimiter({ concurrentMax: 1 })
    const leave = await turns.enter({ group: 'a' })
    const gone = new AbortController()
    const waiting = [turns.enter({ group: 'a', signal: gone.signal }), turns.enter({ group: 'a' })]
    gone.abort()
    leave?.()

    expect((await Promise.all(waiting)).map((permit) => permit !== undefined)).toEqual([false, true])
  })
  test('are fewer for a group until two seconds after the last guest of another', async () => {
    const begunAt = async (laterMs: number) => {
      let nowMs = 0
      const turns = createConcurrencyLimiter({ concurrentMax: 4, groupMaxBesideOthers: 1, now: () => nowMs })
      await turns.run('other', async () => undefined)
      nowMs = laterMs
      const begun: string[] = []
      for (const name of ['first', 'second']) void turns.enter({ group: 'mine' }).then(() => begun.push(name))
      for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve))
      return begun
    }

    expect(await begunAt(2000)).toEqual(['first'])
    expect(await begunAt(2001)).toEqual(['first', 'second'])
  })
})
