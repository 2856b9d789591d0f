import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { expect, onTestFinished } from 'vitest'
import { applyMigrations } from '../../src/base/engines/apply-migrations.ts'
import { HOUR } from '../../src/base/time/units.ts'
import { type DebianPostgres, findDebianPostgres, startDebianPostgres } from '../support/debian-postgres.ts'
import { soon } from '../support/fixtures.ts'
import { needProgram } from '../support/programs.ts'
import { runProgram } from '../support/run-program.ts'
import { daysAgoMs, scoreOf } from '../support/sample-scores.ts'
import { openTestPipeline, test } from '../support/test-pipeline.ts'

const run = promisify(execFile)
/** `npm run backup` takes more people. */
const people = Number(process.env['BACKUP_PEOPLE'] ?? 60)

/** Debian's Postgres has a server and a pg_dump of one version. */
async function openDebianPostgres(skip: (note: string) => never): Promise<DebianPostgres> {
  needProgram(skip, 'pg_dump')
  const postgres = await startDebianPostgres((await findDebianPostgres()) ?? skip('no initdb beside pg_dump'))
  onTestFinished(postgres.close)
  return postgres
}

async function query(url: string, text: string): Promise<Array<Record<string, unknown>>> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

test('a dump that is taken while a worker writes is restored, verified against upstream, and goes on from there', async ({
  peer,
  skip,
}) => {
  const { url, bin } = await openDebianPostgres(skip)
  await query(url('postgres'), 'create database original')
  const migrations = new URL('../../src/pipeline/warehouse/migrations/', import.meta.url)
  await applyMigrations({ databaseUrl: url('original'), folder: migrations, schema: 'vitalsync' })
  const names = Array.from({ length: people }, (_, index) => `person-${index}`)
  for (const name of names) peer.give(name, 'scores', [scoreOf(10, 0.4), scoreOf(20, 0.6)])
  const line = await openTestPipeline({
    warehouseUrl: url('original'),
    queueUrl: url('original'),
    upstream: peer,
    settings: { CONCURRENCY: '1', WINDOWS_AT_ONCE: '1' },
  })
  onTestFinished(() => line.close())
  const profileIds = await line.addProfiles(...names)
  // Older than the wanted history: a push of it makes no window due.
  const startAtMs = daysAgoMs(2000)
  const log = { stream: 'data-logs', startAtMs, endAtMs: startAtMs + HOUR } as const
  await line.pipeline.outbox.add(
    profileIds.map((profileId, index) => ({
      ...log,
      ...{ profileId, itemKey: `log-${index}`, body: JSON.stringify({ id: `log-${index}` }) },
    })),
  )
  line.work()
  const { id } = await line.tick('sync')
  const done = async () => (await line.pipeline.runs.get(id))?.done ?? 0
  await expect.poll(done, { ...soon, interval: 1 }).toBeGreaterThan(2)

  const dump = join(tmpdir(), `vitalsync-${process.pid}.dump`)
  onTestFinished(() => rm(dump, { force: true }))
  await run(join(bin, 'pg_dump'), ['--format=custom', '--exclude-schema=bullmq', `--file=${dump}`, url('original')])
  const doneAfter = await done()
  await query(url('postgres'), 'create database restored')
  await run(join(bin, 'pg_restore'), ['--no-owner', `--dbname=${url('restored')}`, dump])
  await line.idle()

  const settings = { ...line.settings, DATABASE_URL: url('restored'), QUEUE_URL: url('restored') }
  const vitalsync = (...words: string[]) => runProgram(words, { cwd: process.cwd(), env: settings })
  const coveredIn = async (database: string) =>
    (
      await query(
        url(database),
        `select n.external_id from vitalsync.ledger l join vitalsync.names n on n.id = l.profile_id
         where l.stream = 'scores' and l.covered <> '{}'`,
      )
    ).map((row) => String(row['external_id']))
  const covered = await coveredIn('restored')
  expect(covered.length).toBeGreaterThan(0)
  expect(covered.length).toBeLessThanOrEqual(doneAfter + 1)
  expect((await vitalsync('migrate')).code).toBe(0)
  const verified = await vitalsync('verify', '--sample', '200', '--json')
  expect(JSON.parse(verified.stdout)).toMatchObject({ windowsDiffering: 0 })
  expect(verified.code).toBe(0)

  // The ledger says what must be read again, and that is what a worker reads.
  const readGaps = async () => {
    const { stdout } = await vitalsync('gaps', '--stream', 'scores', '--json')
    return [...new Set(stdout.split('\n').flatMap((text) => (text ? String(JSON.parse(text).externalId) : [])))]
  }
  const gaps = await readGaps()
  expect(gaps).toEqual(expect.arrayContaining(names.filter((name) => !covered.includes(name))))
  const readBefore = peer.asked('scores').length

  expect((await vitalsync('worker', '--drain')).code).toBe(0)

  const readAgain = new Set(
    peer
      .asked('scores')
      .slice(readBefore)
      .map(([externalId]) => externalId),
  )
  expect([...readAgain]).toEqual(expect.arrayContaining(gaps))
  expect(await readGaps()).toEqual([])
  expect(await coveredIn('restored')).toHaveLength(people)
  const scores = 'select external_id, score_date_time, value from warehouse.scores order by 1, 2'
  expect(await query(url('restored'), scores)).toEqual(await query(url('original'), scores))
  expect(peer.logs.size).toBe(people)
  expect(await query(url('restored'), 'select 1 from vitalsync.parcels')).toEqual([])
})
