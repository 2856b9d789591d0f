import { expect } from 'vitest'
import { call, registerProfile, stepsLog, test } from './service-world.ts'

test('however many uploads are stuck, a read is answered', async ({ world, inside }) => {
  const people = await Promise.all(Array.from({ length: 24 }, () => registerProfile(world)))
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
  await expect.poll(async () => (await inside.sql.query(stuck)).rows[0]?.n).toBe(4)

  const reads = await Promise.all(
    people.map(({ auth }) => call(world, '/api/v1/profile/score', { auth }).then(({ status }) => status)),
  )

  expect(stored).toBe(0)
  expect(new Set(reads)).toEqual(new Set([204]))
  await holder.query('rollback')
  holder.release()
  expect(new Set(await Promise.all(uploads))).toEqual(new Set([200]))
})
