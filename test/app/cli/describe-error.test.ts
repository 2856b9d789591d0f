import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { expect } from 'vitest'
import { describeError } from '../../../src/app/cli/describe-error.ts'
import { freePort } from '../../../src/base/engines/embedded-postgres.ts'
import { Halted, UsageProblem } from '../../../src/base/errors.ts'
import { test } from '../../support/fixtures.ts'
import { needProgram } from '../../support/programs.ts'
import { startRedis } from '../../support/redis-server.ts'

test('a Redis that has no memory left to write is named, with the setting to look at', async ({
  skip,
  onTestFinished,
}) => {
  needProgram(skip, 'redis-server')
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-full-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const server = await startRedis(folder, await freePort(), '--maxmemory', '1kb')
  onTestFinished(server.kill)
  const redis = new Redis(server.url)
  onTestFinished(() => redis.disconnect())

  const error: unknown = await redis.set('name', 'value').catch((refused: unknown) => refused)

  expect(await describeError(error, { queueUrl: server.url })).toEqual({
    text: `reach Redis at ${new URL(server.url).host}: it has no memory or disk left to write`,
    hint: 'Free memory (Redis: maxmemory) or disk at the server in QUEUE_URL, and give the same command again.',
    code: 3,
  })
  const ours: unknown = await redis.eval('return nothing()', 0).catch((refused: unknown) => refused)
  expect((await describeError(ours, { queueUrl: server.url })).text).toContain('unexpected error, please report it')
})

test('of two Postgres servers the one that does not answer is named', async ({ warehouseUrl }) => {
  const gone = `postgres://127.0.0.1:${await freePort()}/queue`
  const error = new Error('Connection terminated unexpectedly')
  const described = (given: object) => describeError(error, given)

  expect(await described({ databaseUrl: warehouseUrl, queueUrl: gone })).toMatchObject({
    text: `reach Postgres at ${new URL(gone).host}/queue: nothing listens there`,
    hint: 'Start the server, or correct host and port in QUEUE_URL.',
    code: 3,
  })
  expect(await described({ databaseUrl: gone, queueUrl: warehouseUrl })).toMatchObject({
    hint: 'Start the server, or correct host and port in DATABASE_URL.',
    code: 3,
  })
})

test('a full disk is no wrong argument, also where the path is an argument', async () => {
  const cause = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC', syscall: 'write' })
  const full = { hint: 'Free some space, and give the same command again.', code: 1 }

  expect(await describeError(cause)).toMatchObject({ text: 'write a file: the disk is full', ...full })
  expect(await describeError(new UsageProblem(`write out.csv: ${cause.message}`, { cause }))).toMatchObject({
    text: 'write out.csv: the disk is full',
    ...full,
  })
})

test('credentials that upstream refuses are configuration', async () => {
  expect(await describeError(new Halted('account halted'))).toMatchObject({ text: 'account halted', code: 2 })
})
