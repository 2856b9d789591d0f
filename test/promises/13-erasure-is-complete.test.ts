import { expect } from 'vitest'
import { eraseProfile } from '../../jobs/erase-profile.ts'
import { lanes } from '../../src/pipeline/fleet/budget.ts'
import { startWorkerProcess } from '../chaos/workers.ts'
import { soon } from '../support/fixtures.ts'
import { isReadOf, isUpload } from '../support/peer.ts'
import { daysAgoMs, scoreOf } from '../support/sample-scores.ts'
import { queueKinds, type TestPipeline, test } from '../support/test-pipeline.ts'

const name = 'ada-4711@example.org'

/** Every row of the database that holds a text, in any table and column. */
async function traces(line: TestPipeline, text: string): Promise<string[]> {
  const tables = await line.rows(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname not in ('pg_catalog', 'information_schema')`,
  )
  const found: string[] = []
  for (const { name: table } of tables) {
    const rows = await line.rows(`select 1 from ${table} t where t::text like $1 limit 1`, [`%${text}%`])
    if (rows.length > 0) found.push(String(table))
  }
  return found
}

async function erase(line: TestPipeline, profileId: string): Promise<void> {
  const { context } = line.pipeline
  const signal = AbortSignal.timeout(120_000)
  await eraseProfile.run({ profileId }, { ...context, lane: 'manual', lastAttempt: false, signal })
}

for (const engine of queueKinds) {
  test(`an erase during a pull, a push and a wait leaves nothing, here or upstream (${engine})`, async ({
    open,
    peer,
  }) => {
    const line = await open(engine, { CONCURRENCY: '4' })
    const [ada = '', bob = ''] = await line.addProfiles(name, 'bob')
    for (const who of [name, 'bob']) peer.give(who, 'scores', [scoreOf(10, 0.4), scoreOf(9, 0.6)])
    const log = { stream: 'data-logs' as const, itemKey: 'l', body: '{"id":"l"}', startAtMs: 1, endAtMs: 2 }
    const evidence = { kind: 'steps', offsetMinutes: 0, isTimed: true } as const
    await line.pipeline.outbox.add([
      { ...log, profileId: ada, evidence: { ...evidence, device: name } },
      { ...log, profileId: bob, evidence: { ...evidence, device: 'watch' } },
    ])
    await line.rows(
      `insert into vitalsync.empty_days (profile_id, stream, local_date, cause, evidence, computed_at)
       select id, 'scores', current_date - 5, 'unknown', '{}', now() from vitalsync.profiles`,
    )
    const pull = peer.hold(isReadOf('scores', encodeURIComponent(name)), 'after')
    const push = peer.hold(isUpload, 'after')
    line.work()
    await line.tick('backfill', { from: daysAgoMs(30), to: daysAgoMs(5), streams: ['scores'], profileIds: [ada] })
    await pull.reached
    await line.tick('sync', { profileIds: [ada] })
    await push.reached
    // While the first job is under way, a second one waits.
    await line.tick('sync', { profileIds: [ada] })

    await erase(line, ada)
    pull.release()
    push.release()
    await line.idle()

    expect(peer.profiles.has(name)).toBe(false)
    expect(await line.pipeline.profiles.erasedAmong([name])).toEqual(new Set([name]))
    expect(await traces(line, name)).toEqual([])
    for (const table of [
      'ledger',
      'scores',
      'parcels',
      'items',
      'history',
      'tokens',
      'failures',
      'refusals',
      'log_days',
      'empty_days',
    ]) {
      expect(await line.rows(`select 1 from vitalsync.${table} where profile_id = $1`, [ada]), table).toEqual([])
    }
    for (const table of ['log_days', 'empty_days'])
      expect(await line.rows(`select 1 from vitalsync.${table}`)).not.toEqual([])
    for (const lane of lanes) {
      const jobs = await line.pipeline.engine
        .queue(lane)
        .getJobs(['waiting', 'delayed', 'prioritized', 'failed', 'active'])
      expect(jobs).toEqual([])
    }

    // A discovery with an old list, an import and the next tick do not bring the profile back.
    await line.addProfiles(name)
    await line.tick('sync')
    await line.idle()
    expect(await line.pipeline.profiles.findId(name)).toBeUndefined()
    expect(peer.profiles.has(name)).toBe(false)
    expect(await line.rows('select external_id from warehouse.scores')).toHaveLength(2)
  })
}

const isRegistration = (seen: { path: string }) => seen.path.endsWith('/oauth/profile/register')
const expire = (line: TestPipeline) => line.rows('update vitalsync.profiles set registering_until = now()')

async function addNew(line: TestPipeline): Promise<string> {
  await line.pipeline.profiles.add([name], { wantedFrom: new Date(daysAgoMs(30)), state: 'new' })
  return (await line.pipeline.profiles.findId(name))?.profileId ?? ''
}

test('a registration is waited for, and one that an erase overtakes all the same is undone', async ({ open, peer }) => {
  const line = await open('postgres')
  const profileId = await addNew(line)
  const held = peer.hold(isRegistration)
  line.work()
  await line.tick('sync')
  await held.reached

  await expect(erase(line, profileId)).rejects.toThrow('a registration of this profile is under way')
  await expire(line)
  await erase(line, profileId)
  held.release()
  await line.idle()

  expect(peer.profiles.has(name)).toBe(false)
})

test('a registration whose worker died does not bring the erased back upstream', async ({
  open,
  peer,
  onTestFinished,
}) => {
  const line = await open('postgres')
  const profileId = await addNew(line)
  const held = peer.hold(isRegistration)
  const victim = await startWorkerProcess(line.settings)
  onTestFinished(() => victim.kill())
  await line.tick('sync')
  await held.reached
  await victim.kill()

  await expect(erase(line, profileId)).rejects.toThrow('under way')
  held.release()
  await expect.poll(() => peer.profiles.has(name), soon).toBe(true)
  await expire(line)
  await erase(line, profileId)

  expect(peer.profiles.has(name)).toBe(false)
  expect(await line.pipeline.profiles.erasedAmong([name])).toEqual(new Set([name]))
})
