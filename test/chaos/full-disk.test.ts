import { spawnSync } from 'node:child_process'
import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { soon } from '../support/fixtures.ts'
import { needRedis } from '../support/own-redis.ts'
import { isReadOf } from '../support/peer.ts'
import { runProgram } from '../support/run-program.ts'
import { scoreOf } from '../support/sample-scores.ts'
import { openTestPipeline, redisOfOurOwn, test } from '../support/test-pipeline.ts'
import { startWarehouse } from './crash-postgres.ts'

const names = Array.from({ length: 40 }, (_, index) => `person-${index}`)

test('while the disk of Postgres is full status says so, and with free space the work goes on', async ({
  peer,
  skip,
  onTestFinished,
}) => {
  needRedis(skip)
  if (process.getuid?.() !== 0) skip('needs root to mount a small disk')
  const disk = await mkdtemp(join(tmpdir(), 'vitalsync-disk-'))
  onTestFinished(() => rm(disk, { recursive: true, force: true }))
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=400m,mode=755', 'tmpfs', disk]).status !== 0) skip('may not mount')
  onTestFinished(() => void spawnSync('umount', ['-l', disk]))
  const warehouse = await startWarehouse(disk)
  onTestFinished(warehouse.close)
  const line = await openTestPipeline({
    warehouseUrl: warehouse.databaseUrl,
    queueUrl: await redisOfOurOwn(),
    upstream: peer,
  })
  onTestFinished(() => line.close())
  await line.addProfiles(...names)
  for (const name of names)
    peer.give(
      name,
      'scores',
      Array.from({ length: 28 }, (_, day) => wideScore(day + 5)),
    )
  const full = Promise.withResolvers<void>()
  const asked = Promise.withResolvers<void>()
  const { before } = peer
  const isRead = isReadOf('scores')
  peer.before = async (seen) => {
    if (isRead(seen)) {
      asked.resolve()
      await full.promise
    }
    return before(seen)
  }
  line.work()
  await expect.poll(() => line.rows('select 1 from vitalsync.workers'), soon).toHaveLength(1)
  await line.tick('sync', { streams: ['scores'] })
  await asked.promise

  const filler = join(disk, 'filler')
  await fillDisk(filler)
  full.resolve()

  const status = async () => {
    const { stdout, stderr } = await runProgram(['status'], { cwd: '/', env: line.settings })
    return stdout + stderr
  }
  // With no byte left Postgres accepts no new connection, and status says why it cannot connect.
  const told =
    /no manual job succeeds since .* UTC: Postgres: its disk is full \(53100\); \d+ jobs? waiting|reach Postgres: its disk is full \(53100\)/
  await expect.poll(status, { ...soon, interval: 500 }).toMatch(told)
  expect(line.logged()).toContain('"code":"53100"')

  await rm(filler)
  const stored = 'select count(*)::int as rows from vitalsync.scores'
  await expect.poll(() => line.rows(stored), soon).toEqual([{ rows: 28 * names.length }])
  await line.idle()
  expect(await line.rows('select * from vitalsync.failures')).toEqual([])
  await expect.poll(status, { ...soon, interval: 500 }).not.toMatch(/disk is full/)
})

/** Wide enough for the rows to need new pages of the table. */
const wideScore = (day: number) => ({ ...scoreOf(day, 0.5), note: 'x'.repeat(4000) })

async function fillDisk(file: string): Promise<void> {
  const handle = await open(file, 'w')
  const chunk = Buffer.alloc(64 * 1024)
  try {
    for (;;) await handle.write(chunk)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error
  } finally {
    await handle.close()
  }
}
