import { expect } from 'vitest'
import { countLockWaiters, rowsFrom } from '../support/lock-waiters.ts'
import { accountAuth, call, registerProfile, stepsLog, test } from './service-world.ts'

test('however many uploads are stuck, a read is answered', async ({ world, inside, other }) => {
  const accounts = [await accountAuth(world), await accountAuth(world, other)]
  const people = await Promise.all(
    Array.from({ length: 24 }, (_, place) => registerProfile(world, { account: accounts[place % 2] ?? '' })),
  )
  const holder = await inside.sql.connect()
  await holder.query('begin')
  await holder.query('select from service.profiles for update')
  let stored = 0
  const uploads = people.map(async ({ auth }) => {
    const body = Array.from({ length: 20 }, () => stepsLog())
    const answer = await call(world, '/api/v1/profile/data/log', { method: 'POST', auth, body })
    stored += 1
    return answer.status
  })
  await expect.poll(() => countLockWaiters(rowsFrom(inside.sql))).toBe(4)

  const reads = await Promise.all(
    people.map(({ auth }) => call(world, '/api/v1/profile/score', { auth }).then(({ status }) => status)),
  )

  expect(stored).toBe(0)
  expect(new Set(reads)).toEqual(new Set([204]))
  await holder.query('rollback')
  holder.release()
  expect(new Set(await Promise.all(uploads))).toEqual(new Set([200]))
})

test('an account whose uploads are stuck leaves a permit to others', async ({ world, inside, other }) => {
  const account = await accountAuth(world)
  const people = await Promise.all(Array.from({ length: 6 }, () => registerProfile(world, { account })))
  const neighbour = await registerProfile(world, { account: await accountAuth(world, other) })
  const upload = async (auth: string) =>
    (await call(world, '/api/v1/profile/data/log', { method: 'POST', auth, body: [stepsLog()] })).status
  const holder = await inside.sql.connect()
  await holder.query('begin')
  await holder.query('select from service.profiles where external_id <> $1 for update', [neighbour.externalId])
  const stuck = people.map(({ auth }) => upload(auth))
  try {
    await expect.poll(() => countLockWaiters(rowsFrom(inside.sql))).toBe(3)

    expect(await upload(neighbour.auth)).toBe(200)
  } finally {
    await holder.query('rollback')
    holder.release()
  }
  expect(new Set(await Promise.all(stuck))).toEqual(new Set([200]))
})
