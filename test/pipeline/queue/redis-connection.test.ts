import { expect, test } from 'vitest'
import { freePort } from '../../../src/base/engines/embedded-postgres.ts'
import { connectRedis, failFast, isRedisLost } from '../../../src/pipeline/queue/redis-connection.ts'

test('a command fails while no node of its Redis Cluster answers', async ({ onTestFinished }) => {
  const queueUrl = `redis://127.0.0.1:${await freePort()},127.0.0.1:${await freePort()}`
  const cluster = connectRedis(queueUrl, { ...failFast, commandTimeout: 500 })
  onTestFinished(() => cluster.disconnect())
  cluster.on('error', () => undefined)

  const error = await cluster.get('name').catch((reason: unknown) => reason)

  expect(error).toEqual(new Error('Command timed out'))
  expect(isRedisLost(error, queueUrl)).toBe(true)
})
