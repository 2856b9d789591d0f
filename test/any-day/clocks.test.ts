import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import { Redis } from 'ioredis'
import pg from 'pg'
import { describe, expect } from 'vitest'
import { test } from '../support/fixtures.ts'
import { DAY_MS, dayOfDate, days, shiftMs } from './days.ts'

const run = promisify(execFile)
const print = 'console.log(Date.now(), new Intl.DateTimeFormat().resolvedOptions().timeZone)'

describe('everything that a test run starts has one clock', () => {
  const aboutNow = (ms: number) => expect(Math.abs(ms - Date.now())).toBeLessThan(DAY_MS / 24)

  test('Postgres', async ({ database }) => {
    const client = new pg.Client({ connectionString: database })
    await client.connect()
    const { rows } = await client.query('select now() as now, clock_timestamp() as clock')
    await client.end()

    aboutNow(rows[0].now.getTime())
    aboutNow(rows[0].clock.getTime())
  })

  test('the timers of Postgres', async ({ database }) => {
    const client = new pg.Client({ connectionString: database })
    await client.connect()
    await client.query("set statement_timeout = '50ms'")

    await expect(client.query('select pg_sleep(60)')).rejects.toThrow('statement timeout')
    await client.end()
  })

  test('Redis', async ({ redisUrl }) => {
    const redis = new Redis(redisUrl)
    const [seconds] = await redis.time()
    redis.disconnect()

    aboutNow(Number(seconds) * 1000)
  })

  test('a program, a child of a program, and a thread, each in the time zone of the run', async () => {
    const child = `require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(print)}], { stdio: 'inherit', env: {} })`
    for (const script of [print, child]) {
      const { stdout } = await run(process.execPath, ['-e', script], { env: {} })
      const [ms, zone] = stdout.trim().split(' ')
      aboutNow(Number(ms))
      expect(zone).toBe(new Intl.DateTimeFormat().resolvedOptions().timeZone)
    }
    const thread = new Worker("require('node:worker_threads').parentPort.postMessage(Date.now())", { eval: true })
    aboutNow(await new Promise<number>((resolve) => thread.once('message', resolve)))
  })

  test('a shell and its date', async () => {
    const { stdout } = await run('sh', ['-c', 'date +%s'], { env: { PATH: '/usr/bin:/bin' } })

    aboutNow(Number(stdout) * 1000)
  })
})

describe('the day to run on', () => {
  const now = Date.parse('2026-11-22T01:00:00Z')
  const startOf = (at: string, zone: string) => new Date(now + shiftMs({ at, zone }, now)).toISOString()

  test('is another one every day, and each of the list has its turn', () => {
    const chosen = days.map((_, index) => dayOfDate(now + index * DAY_MS))

    expect(new Set(chosen)).toEqual(new Set(days))
    expect(days).toHaveLength(15)
  })

  test.for([
    ['+40d', 'Pacific/Auckland', '2027-01-01T01:00:00.000Z'],
    ['2028-02-29T12:00', 'UTC', '2028-02-29T12:00:00.000Z'],
    ['2028-02-29T12:00', 'Pacific/Auckland', '2028-02-28T23:00:00.000Z'],
    ['12-31T23:50', 'America/New_York', '2027-01-01T04:50:00.000Z'],
    ['11-22T13:50', 'Pacific/Auckland', '2027-11-22T00:50:00.000Z'],
    ['11-22T14:10', 'Pacific/Auckland', '2026-11-22T01:10:00.000Z'],
  ] as const)('%s in %s is %s', ([at, zone, start]) => {
    expect(startOf(at, zone)).toBe(start)
  })

  test('that is none is refused', () => {
    expect(() => startOf('tomorrow', 'UTC')).toThrow('no moment: tomorrow')
  })
})
