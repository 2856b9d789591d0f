import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import { Redis } from 'ioredis'
import pg from 'pg'
import { describe, expect } from 'vitest'
import { test } from '../support/fixtures.ts'
import { DAY_MS, days, planRun, shiftMs } from './days.ts'

const run = promisify(execFile)
const print = 'console.log(Date.now(), new Intl.DateTimeFormat().resolvedOptions().timeZone)'

describe('everything that a test run starts has one clock', () => {
  const aboutNow = (ms: number) => expect(Math.abs(ms - Date.now())).toBeLessThan(DAY_MS / 24)

  test('Postgres answers with the clock of the run', async ({ database }) => {
    const client = new pg.Client({ connectionString: database })
    await client.connect()
    const { rows } = await client.query('select now() as now, clock_timestamp() as clock')
    await client.end()

    aboutNow(rows[0].now.getTime())
    aboutNow(rows[0].clock.getTime())
  })

  test('a statement timeout of Postgres ends in real time', async ({ database }) => {
    const client = new pg.Client({ connectionString: database })
    await client.connect()
    await client.query("set statement_timeout = '50ms'")

    await expect(client.query('select pg_sleep(60)')).rejects.toThrow('statement timeout')
    await client.end()
  })

  test('Redis answers with the clock of the run', async ({ redisUrl }) => {
    const redis = new Redis(redisUrl)
    const [seconds] = await redis.time()
    redis.disconnect()

    aboutNow(Number(seconds) * 1000)
  })

  test('a program, its child and a thread have the clock and the time zone of the run', async () => {
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

  test('the date of a shell is that of the run', async () => {
    const { stdout } = await run('sh', ['-c', 'date +%s'], { env: { PATH: '/usr/bin:/bin' } })

    aboutNow(Number(stdout) * 1000)
  })
})

describe('the day to run on', () => {
  const now = Date.parse('2026-11-22T01:00:00Z')
  const startOf = (at: string, zone: string) => new Date(now + shiftMs({ at, zone }, now)).toISOString()

  test('is another one every day, and each of the list has its turn', () => {
    const chosen = days.map((_, index) => planRun([], now + index * DAY_MS).day)

    expect(new Set(chosen)).toEqual(new Set(days))
    expect(days).toHaveLength(15)
  })

  test('has another order of the tests every day; the printed words repeat day and order on any date', () => {
    const { day, again, program } = planRun(['test/service'], now)
    const later = planRun(again, now + 3 * DAY_MS)

    expect(program).toEqual(expect.arrayContaining(['--sequence.shuffle', '--sequence.seed', '20779', 'test/service']))
    expect(planRun(['test/service'], now + DAY_MS).program).toContain('20780')
    expect(later).toEqual({ day, again, program })
  })

  test('runs another program with its words alone', () => {
    const { again, program } = planRun(['--at', '+1d', '--program', 'other.ts', 'word'], now)

    expect(program).toEqual(['other.ts', 'word'])
    expect(planRun(again, now + DAY_MS).program).toEqual(program)
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

  test('is refused when it is no moment', () => {
    expect(() => startOf('tomorrow', 'UTC')).toThrow('no moment: tomorrow')
  })
})
