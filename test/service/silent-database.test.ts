import pg from 'pg'
import { expect } from 'vitest'
import { test } from '../support/fixtures.ts'
import { call, withService } from './service-world.ts'

test('/ready answers 503 while the database keeps it waiting, and is ready again after that', async ({
  serviceUrl,
}) => {
  await withService(serviceUrl, {}, async (world) => {
    const holder = new pg.Client({ connectionString: serviceUrl })
    await holder.connect()
    try {
      await holder.query('begin; lock table service.accounts in access exclusive mode')

      const answer = await call(world, '/ready')

      expect([answer.status, JSON.stringify(answer.json)]).toEqual([
        503,
        expect.stringContaining('the database does not answer'),
      ])
    } finally {
      await holder.end()
    }
    await expect.poll(async () => (await call(world, '/ready')).status).toBe(200)
  })
})
