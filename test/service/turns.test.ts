import { describe, expect, test as plain } from 'vitest'
import { createTurns } from '../../src/service/turns.ts'
import { call, newPerson, stepsLog, test } from './world.ts'

describe('turns', () => {
  plain('begin in the order they were asked for, so many at once at most', async () => {
    const turns = createTurns(2)
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
    expect(await Promise.all(places.map((place) => turns.take(work(place))))).toEqual(places)
    expect(begun).toEqual(places)
    expect(most).toBe(2)
  })
  plain('are handed on by those that fail', async () => {
    const turns = createTurns(1)
    const fail = () => turns.take(async () => Promise.reject(new Error('no')))

    await expect(fail()).rejects.toThrow('no')
    await expect(Promise.all([fail(), turns.take(async () => 'yes')])).rejects.toThrow('no')
    expect(await turns.take(async () => 'yes')).toBe('yes')
  })
  plain('let others in between two of them', async () => {
    const turns = createTurns(3)
    const seen: string[] = []
    const all = Promise.all(['a', 'b', 'c', 'd'].map((name) => turns.take(async () => void seen.push(name))))
    seen.push('what came after')
    await all

    expect(seen[0]).toBe('what came after')
  })
})

test('however many uploads are stuck, a read is answered', async ({ world, inside }) => {
  const people = await Promise.all(Array.from({ length: 24 }, () => newPerson(world)))
  const holder = await inside.sql.connect()
  await holder.query('begin')
  await holder.query('select from service.profiles for update')
  let stored = 0
  const uploads = people.map(async ({ auth }) => {
    const body = Array.from({ length: 90 }, () => stepsLog())
    const answer = await call(world, '/api/v1/profile/data/log', { method: 'POST', auth, body })
    stored += 1
    return answer.status
  })
  const stuck = `select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
  await expect.poll(async () => (await inside.sql.query(stuck)).rows[0]?.n, { timeout: 20_000 }).toBe(4)

  const reads = await Promise.all(
    people.map(({ auth }) => call(world, '/api/v1/profile/score', { auth }).then(({ status }) => status)),
  )

  expect(stored).toBe(0)
  expect(new Set(reads)).toEqual(new Set([204]))
  await holder.query('rollback')
  holder.release()
  expect(new Set(await Promise.all(uploads))).toEqual(new Set([200]))
})
