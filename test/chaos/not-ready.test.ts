import pg from 'pg'
import { type expect as Expect, inject } from 'vitest'
import { soon } from '../support/fixtures.ts'
import { openOwnRedis, ownQueue } from '../support/own-redis.ts'
import { type Program, startProgram } from '../support/run-program.ts'
import { type TestPipeline, test } from '../support/test-pipeline.ts'

/**
 * Provokes each reason for which a process is not ready. The short form leaves out what only time shows: an engine that is
 * away, and work that stands still. `npm run not-ready` waits for those too.
 */
const isLong = process.env['NOT_READY'] === 'all'

const withinMs = 60_000

type Started = { url: string; program: Program }

async function start(line: TestPipeline, command: 'worker' | 'schedule'): Promise<Started> {
  const env = { ...line.settings, METRICS_PORT: '0', LOG_LEVEL: 'info' }
  const program = startProgram([command], { cwd: process.cwd(), env })
  const [, url = ''] = await program.said(/"url":"(http:[^"]+)","msg":"metrics are served"/)
  return { url, program }
}

async function end({ program }: Started): Promise<void> {
  program.kill('SIGKILL')
  await program.ended
}

const readiness = async (url: string) => {
  const { reasons = [] } = (await (await fetch(`${url}/ready`)).json()) as {
    reasons?: Array<{ reason: string; text: string }>
  }
  return reasons.map(({ reason }) => reason)
}

/** Becomes unready for this reason, within the minute that the promise gives. */
async function expectUnready(expect: typeof Expect, { url }: Started, reason: string): Promise<void> {
  const sinceMs = performance.now()
  await expect.poll(() => readiness(url), soon).toContain(reason)
  expect(performance.now() - sinceMs).toBeLessThan(withinMs)
}

test.concurrent('an account that upstream refuses, until it is accepted again', async ({
  open,
  peer,
  expect,
  onTestFinished,
  skip,
}) => {
  const line = await open('redis', await ownQueue('redis', { skip, onTestFinished }))
  const worker = await start(line, 'worker')
  onTestFinished(() => end(worker))
  const scheduler = await start(line, 'schedule')
  onTestFinished(() => end(scheduler))
  await expect.poll(() => readiness(worker.url), soon).toEqual([])
  await line.addProfiles('ada')
  peer.give('ada', 'scores', [])
  peer.refuseAll(true)

  await line.tick('sync')

  await expectUnready(expect, worker, 'account')
  await expectUnready(expect, scheduler, 'account')
  if (!isLong) return
  peer.refuseAll(false)
  await expect.poll(() => readiness(worker.url), { timeout: 300_000, interval: 500 }).toEqual([])
  await expect.poll(() => readiness(scheduler.url), soon).toEqual([])
})

test.concurrent('a worker whose clock is 15 s off the database’s is not ready', async ({
  open,
  expect,
  onTestFinished,
  warehouseUrl,
}) => {
  const line = await open('postgres')
  const worker = await start(line, 'worker')
  onTestFinished(() => end(worker))
  await expect.poll(() => readiness(worker.url), soon).toEqual([])
  const database = new URL(warehouseUrl).pathname.slice(1)
  const setClockOff = `
    create schema off;
    create function off.clock_timestamp() returns timestamptz volatile language sql
      as $$ select pg_catalog.clock_timestamp() + interval '15 s' $$;
    alter database ${database} set search_path = off, public, pg_catalog`
  await line.rows(setClockOff)
  await line.rows(
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  )

  await expectUnready(expect, worker, 'clock')
})

if (isLong) {
  test.concurrent('a queue that is away, until it is back', async ({ open, expect, onTestFinished, skip }) => {
    const redis = await openOwnRedis({ skip, onTestFinished })
    const line = await open('redis', { QUEUE_URL: redis.url })
    const scheduler = await start(line, 'schedule')
    onTestFinished(() => end(scheduler))
    await expect.poll(() => readiness(scheduler.url), soon).toEqual([])

    await redis.kill()

    await expectUnready(expect, scheduler, 'queue')
    await redis.startAgain()
    await expect.poll(() => readiness(scheduler.url), soon).toEqual([])
  })

  test
    .runIf(isLong)
    .concurrent(
      'a warehouse that is away, until it is back',
      async ({ open, expect, onTestFinished, skip, warehouseUrl }) => {
        const line = await open('redis', await ownQueue('redis', { skip, onTestFinished }))
        const scheduler = await start(line, 'schedule')
        onTestFinished(() => end(scheduler))
        await expect.poll(() => readiness(scheduler.url), soon).toEqual([])
        const database = new URL(warehouseUrl).pathname.slice(1)
        const admin = new pg.Client({ connectionString: inject('databaseUrl') })
        await admin.connect()
        onTestFinished(() => admin.end())
        const allow = (isAllowed: boolean) =>
          admin.query(`alter database ${database} with allow_connections ${isAllowed}`)
        await allow(false)
        await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [database])

        await expectUnready(expect, scheduler, 'database')
        await allow(true)
        await expect.poll(() => readiness(scheduler.url), soon).toEqual([])
      },
    )

  test
    .runIf(isLong)
    .concurrent(
      'work that stands still, without a worker and with an upstream that hangs',
      async ({ open, peer, expect, onTestFinished, skip }) => {
        const line = await open('redis', await ownQueue('redis', { skip, onTestFinished }))
        const scheduler = await start(line, 'schedule')
        onTestFinished(() => end(scheduler))
        await expect.poll(() => readiness(scheduler.url), soon).toEqual([])
        await line.addProfiles('ada')
        peer.give('ada', 'scores', [])
        await line.tick('sync')
        await expectUnready(expect, scheduler, 'work')

        const worker = await start(line, 'worker')
        onTestFinished(() => end(worker))
        await expect.poll(() => readiness(scheduler.url), soon).toEqual([])

        peer.before = () => new Promise(() => undefined)
        await line.addProfiles('bob')
        await line.tick('sync')
        await expectUnready(expect, worker, 'work')
        await expectUnready(expect, scheduler, 'work')
      },
    )
}
