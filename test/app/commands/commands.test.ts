import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { jsonResultSchemas } from '../../../src/app/results/json-results.ts'
import { paramsText } from '../../../src/pipeline/transfer/order.ts'
import { runProgram } from '../../support/run-program.ts'
import { type Checked, checkedIn } from './checked-json.ts'
import { type CommandWorld, makeOwnedDatabase, openCommandWorld } from './command-world.ts'

/** A synced warehouse. Each test has a copy; upstream is shared, and no test changes it within the synced days. */
let synced: CommandWorld
let world: CommandWorld
const timeout = 300_000

beforeAll(async () => {
  synced = await openCommandWorld({ profiles: 3, days: 12 })
  await synced.json('profiles', 'discover')
  await synced.json('sync')
}, timeout)
afterAll(() => synced.close(), timeout)
beforeEach(async () => {
  world = await synced.copy()
}, timeout)
afterEach(() => world.close(), timeout)
const checked: Checked = (name, ...words) => checkedIn(world, name, ...words)

test('a second sync finds everything unchanged and says so as JSON', { timeout }, async () => {
  const [run] = await checked('sync')

  expect(run).toMatchObject({ kind: 'sync', state: 'done', done: 3, failed: 0, rowsWritten: 0 })
})

test('plan counts the due windows, and the covered ones', { timeout }, async () => {
  const [plan] = await checked('plan')
  const [range] = await checked('plan', '--from', '2020-01-01', '--to', '2020-07-01', '--stream', 'scores')

  expect(plan).toMatchObject({ profiles: 3, fromAt: null })
  expect(plan?.['windows']).toBe(plan?.['requests'])
  expect(range).toMatchObject({ profiles: 3, covered: 0 })
  expect(range?.['streams']).toHaveLength(1)
})

test('a dry run of a back-fill asks nothing, the back-fill covers, and a second one has nothing to do', {
  timeout,
}, async () => {
  const words = ['--from', '2020-01-01', '--to', '2020-03-01', '--stream', 'trends']
  const { stdout } = await world.run('backfill', ...words, '--dry-run', '--json')
  const dry = jsonResultSchemas.plan.parse(JSON.parse(stdout))
  const [first] = await checked('backfill', ...words)
  const [again] = await checked('backfill', ...words)
  const [forced] = await checked('backfill', ...words, '--again')

  expect(dry.windows).toBe(3)
  expect(first).toMatchObject({ state: 'done', done: 3, requests: 3 })
  expect(again).toMatchObject({ state: 'done', done: 3, requests: 0 })
  expect(forced).toMatchObject({ state: 'done', done: 3, requests: 3 })
})

test('status, runs and gaps show the state of a synced warehouse', { timeout }, async () => {
  const [status] = await checked('status')
  const runs = await checked('runs', '--limit', '2')
  const { stdout } = await world.run('gaps', '--profile', 'SampleProfile-traveller-1')
  const gaps = await checked('gaps', '--profile', 'SampleProfile-traveller-1', '--all')

  expect(status).toMatchObject({ profiles: { active: 3, gone: 0 } })
  expect(runs).toMatchObject([{ kind: 'sync', state: 'done' }])
  expect(stdout).toMatch(
    /^No gaps: everything that is wanted was read; \d+ spans? can still change and will be read again: --all\.$/m,
  )
  expect(new Set(gaps.map(({ reason }) => reason))).toEqual(new Set(['unsettled']))
})

test('status makes no tables in a queue that has none', { timeout }, async ({ onTestFinished }) => {
  const queue = await makeOwnedDatabase()
  onTestFinished(queue.drop)
  const asked = await world.start(['status'], { QUEUE_URL: queue.url }).ended
  const client = new pg.Client({ connectionString: queue.url })
  await client.connect()
  const { rows } = await client.query(`select nspname from pg_namespace where nspname !~ '^(pg_|information)'`)
  await client.end()

  expect(asked).toMatchObject({ code: 0, stdout: expect.stringContaining('nightly 0, manual 0, backfill 0') })
  expect(rows).toEqual([{ nspname: 'public' }])
})

test('a run that is under way is stopped by its number, once', { timeout }, async () => {
  const client = new pg.Client({ connectionString: world.databaseUrl })
  await client.connect()
  const { rows } = await client.query(`insert into vitalsync.runs (kind) values ('backfill') returning id`)
  const stopped = await world.run('runs', 'stop', rows[0].id)
  const again = await world.run('runs', 'stop', rows[0].id)
  const kept = await client.query('select state, ended_at from vitalsync.runs where id = $1', [rows[0].id])
  await client.end()

  expect([stopped.code, stopped.stdout]).toEqual([0, `Stopped run ${rows[0].id}.\n`])
  expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('is stopped')])
  expect(kept.rows).toEqual([{ state: 'stopped', ended_at: expect.any(Date) }])
})

test('verify finds no silent difference, finds one that was made by hand, and mends it with --mend', {
  timeout,
}, async () => {
  const [clean] = await checked('verify', '--sample', '40')
  const counted = (await world.run('status')).stdout
  await world.query(`update vitalsync.scores set digest = digest + 1 where type = 'sleep'`)
  const [dirty] = await checked('verify', '--sample', '40', '--stream', 'scores')
  const left = await world.run('verify', '--sample', '40', '--stream', 'scores')
  const [mended] = await checked('verify', '--sample', '40', '--stream', 'scores', '--mend')
  const { code, stdout } = await world.run('verify', '--sample', '5000', '--seed', '7')

  expect(clean).toMatchObject({ windowsDiffering: 0, rate: 0, missingHere: 0, differing: 0, missingUpstream: 0 })
  expect(Number(clean?.['rateUpTo'])).toBeGreaterThan(0)
  expect(counted).toMatch(/Silent differences: 0 of \d+ verified windows in 30 days/)
  expect(Number(dirty?.['differing'])).toBeGreaterThan(0)
  expect(Number(dirty?.['rate'])).toBeGreaterThan(0)
  expect(dirty?.['differences']).toContainEqual(expect.objectContaining({ changedUpstream: 0, mended: false }))
  expect(left.code).toBe(1)
  expect(mended).toMatchObject({
    windowsDiffering: dirty?.['windowsDiffering'],
    windowsMended: dirty?.['windowsDiffering'],
  })
  expect(code).toBe(0)
  expect(stdout).toContain('5,000 were asked for, but no more are covered: these are all')
})

test('failures are listed, shown, retried and discarded', { timeout }, async () => {
  await world.query(`insert into vitalsync.refusals select id, 'scores', tstzrange(now() - interval '3 days', now() - interval '2 days'), 400,
    'call scoresOf: refused', 1, now(), now(), now() + interval '1 day' from vitalsync.profiles order by id limit 1`)
  await world.query(`insert into vitalsync.failures (profile_id, job, reason, hint, attempts, first_at, last_at) select id, 'sync-profile', 'it broke', 'mend it', 1, now(), now()
    from vitalsync.profiles order by id limit 1`)
  const listed = await checked('failures list')
  const ids = listed.map(({ id }) => String(id)).sort()
  const [window] = await checked('failures show', ids[1] ?? '')
  const [retried] = await checked('failures retry', '--reason', 'REFUSED')
  const ofCause = await checked('failures list', '--cause', String(window?.['cause']))
  const [discarded] = await checked('failures discard', ...ids)
  const left = await checked('failures list')
  const unknown = await world.run('failures', 'retry', 'job:0:nothing')

  expect(ids).toEqual([expect.stringMatching(/^job:\d+:sync-profile$/), expect.stringMatching(/^window:\d+:scores:/)])
  expect(window).toMatchObject({ kind: 'window', status: 400, hint: expect.stringContaining('discard') })
  expect(ofCause.map(({ id }) => id)).toEqual([ids[1]])
  expect(retried).toEqual({ retried: 1, enqueued: 0 })
  expect(discarded).toEqual({ discarded: 2 })
  expect(left).toEqual([expect.objectContaining({ kind: 'window', nextTryAt: null })])
  expect(unknown.code).toBe(2)
})

test('a failed back-fill and a window from before a person’s history go into the queue again, and a worker does them', {
  timeout,
}, async () => {
  const [from, to] = ['2019-01-01', '2019-02-01'].map((day) => Date.parse(day))
  const [first] = await world.query('select id from vitalsync.profiles order by id limit 1')
  await world.query(
    `insert into vitalsync.failures (profile_id, job, reason, scope, first_at, last_at)
     values ($1, 'backfill-profile', 'it broke', $2, now(), now())`,
    [first?.['id'], paramsText({ from, to, streams: ['trends'] })],
  )
  await world.query(
    `insert into vitalsync.refusals values ($1, 'scores', tstzrange('2018-12-01', '2019-01-01'), 400, 'no', 1, now(), now(), 'infinity')`,
    [first?.['id']],
  )
  const [listed] = await checked('failures list', '--reason', 'it broke')
  const [retried] = await checked('failures retry', '--all')
  const worked = await world.run('worker', '--drain')
  const covered = await world.query(
    `select stream from vitalsync.ledger where profile_id = $1 and (stream = 'trends' and covered @> tstzrange('2019-01-01', '2019-02-01')
       or stream = 'scores' and covered @> tstzrange('2018-12-01', '2019-01-01')) order by 1`,
    [first?.['id']],
  )

  expect(listed).toMatchObject({ kind: 'job', nextTryAt: null, hint: expect.stringContaining('failures retry') })
  expect(retried).toEqual({ retried: 2, enqueued: 2 })
  expect(worked.code).toBe(0)
  expect(await checked('failures list')).toEqual([])
  expect(covered).toEqual([{ stream: 'scores' }, { stream: 'trends' }])
})

test('a record in quarantine is shown, and replayed by asking upstream again', { timeout }, async () => {
  await world.query(`insert into vitalsync.quarantine
      (profile_id, stream, direction, digest, path, reason, body, first_seen_at, last_seen_at)
    select id, 'scores', 'pull', '\\x01', 'type', 'missing', '{"scoreDateTime":"2026-01-02T00:00:00Z","state":"low"}', now(), now()
    from vitalsync.profiles order by id limit 1`)
  await world.query(
    `update vitalsync.ledger set covered = covered + '{[2026-01-01, 2026-01-04)}' where stream = 'scores'`,
  )
  const [listed] = await checked('quarantine list', '--way', 'pull')
  const [shown] = await checked('quarantine show', String(listed?.['id']))
  const [replayed] = await checked('quarantine replay', '--cause', String(listed?.['cause']))
  const holes = await world.query(`select count(*)::int as n from vitalsync.ledger where stream = 'scores'
    and not covered @> '2026-01-02T00:00:00Z'::timestamptz`)

  expect(shown).toMatchObject({ path: 'type', body: expect.stringContaining('low') })
  expect(replayed).toEqual({ pushed: 0, stored: 0, reread: 1 })
  expect(holes).toEqual([{ n: 1 }])
  expect(await checked('quarantine list')).toEqual([])
})

test('drift is listed, accepted with a name that the audit keeps, and gone from status', { timeout }, async () => {
  await world.query(`insert into vitalsync.drift (stream, what, path, detail)
    values ('scores', 'extra', 'confidence', ''), ('biomarkers', 'unit', 'unit', 'weight in lb, not kg')`)
  const [status] = await checked('status')
  const listed = await checked('drift list')
  const [{ id } = {}] = listed
  const unknown = await world.run('drift', 'accept', '17')

  expect(status?.['drift']).toEqual([
    { stream: 'biomarkers', count: 1 },
    { stream: 'scores', count: 1 },
  ])
  expect(listed.map(({ what }) => what)).toEqual(['unit', 'extra'])
  expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('drift list')])
  expect(await checked('drift accept', String(id), '--by', 'ada')).toEqual([{ accepted: 1 }])
  expect(await checked('drift list')).toMatchObject([{ what: 'extra', acceptedAt: null }])
  expect(await checked('drift list', '--all', '--stream', 'biomarkers')).toMatchObject([{ acceptedBy: 'ada' }])
  expect(await world.query(`select who, action, what from vitalsync.audit where action = 'accept drift'`)).toEqual([
    { who: 'ada', action: 'accept drift', what: { drift: [id] } },
  ])
})

test('a record in quarantine is discarded, and asked for no more', { timeout }, async () => {
  await world.query(`insert into vitalsync.quarantine
      (profile_id, stream, direction, digest, path, reason, body, first_seen_at, last_seen_at)
    select id, 'scores', 'pull', '\\x03', 'type', 'missing', '{}', now(), now() from vitalsync.profiles order by id limit 1`)
  const [listed] = await checked('quarantine list')

  expect(await checked('quarantine discard', String(listed?.['id']))).toEqual([{ discarded: 1 }])
  expect(await checked('quarantine list')).toEqual([])
})

test('of a record without a date the window is asked for again that it was read in, and nothing else', {
  timeout,
}, async () => {
  await world.query(`update vitalsync.ledger set covered = '{[2026-01-01, 2026-01-09)}' where stream = 'biomarkers'`)
  await world.query(`insert into vitalsync.quarantine
      (profile_id, stream, direction, digest, path, reason, body, span, first_seen_at, last_seen_at)
    select id, 'biomarkers', 'pull', '\\x02', 'type', 'missing', '{}', '[2026-01-02, 2026-01-04)', now(), now()
    from vitalsync.profiles order by id limit 1`)
  const [replayed] = await checked('quarantine replay', '--all')
  const left = await world.query(
    `select covered::text from vitalsync.ledger where stream = 'biomarkers' order by profile_id limit 1`,
  )

  expect(replayed).toEqual({ pushed: 0, stored: 0, reread: 1 })
  expect(String(left[0]?.['covered']).replaceAll(/ 00:00:00\+00|"/g, '')).toBe(
    '{[2026-01-01,2026-01-02),[2026-01-04,2026-01-09)}',
  )
})

test('imported items are pushed by the next sync; items that upstream refuses are replayed', { timeout }, async () => {
  const file = join(world.folder, 'tags.csv')
  const who = 'SampleProfile-traveller-1'
  await writeFile(file, `externalId,type,name,source,startDateTime\n${who},event,coffee,diary,2026-01-02T08:00:00Z\n`)
  const [imported] = await checked('import', 'tags', file)
  const [pushed] = await checked('sync', '--profile', who)
  await world.query(`insert into vitalsync.quarantine
      (profile_id, stream, direction, digest, path, reason, body, mode, start_at, end_at, first_seen_at, last_seen_at)
    select profile_id, stream, 'push', digest, '[0]', 'refused', '{}', 'patch', now(), now(), now(), now()
    from vitalsync.items where stream = 'tags'`)
  const [replayed] = await checked('quarantine replay', '--way', 'push')
  const waiting = await world.query('select stream, waiting, body from vitalsync.parcels')

  expect(imported).toMatchObject({ kind: 'tags', accepted: 1, rejected: 0 })
  expect(pushed).toMatchObject({ itemsPushed: 1, failed: 0 })
  expect(replayed).toEqual({ pushed: 1, stored: 0, reread: 0 })
  expect(waiting).toEqual([{ stream: 'tags', waiting: 1, body: '{}' }])
})

test('an export prints how many rows it wrote', { timeout }, async () => {
  const output = join(world.folder, 'scores.csv')
  const [exported] = await checked('export', '--stream', 'scores', '--format', 'csv', '--output', output)

  expect(exported).toMatchObject({ format: 'csv', output, since: null })
})

test('explain settle says when each stream settles and why; status counts the changes after that', {
  timeout,
}, async () => {
  const streams = await checked('explain settle')
  const { stdout } = await world.run('explain', 'settle')
  const [status] = await checked('status')

  expect(streams).toHaveLength(6)
  expect(streams[0]).toMatchObject({ stream: 'scores', basis: 'fallback', settleSeconds: 72 * 3600 })
  expect(stdout).toContain('not enough is known yet')
  expect(status).toMatchObject({ silent: [] })
})

test('explain shows the logs and factors of a score', { timeout }, async () => {
  const [score] = await world.query(`select external_id, local_date::text as day from warehouse.scores
    where type = 'activity' order by score_date_time limit 1`)
  const words = ['--profile', String(score?.['external_id']), '--date', String(score?.['day']), '--score', 'activity']
  const [explained] = await checked('explain', ...words)

  expect(explained).toMatchObject({ score: 'activity', date: score?.['day'] })
})

test('doctor and migrate print JSON of their schemas', { timeout }, async () => {
  const [doctor] = await checked('doctor')
  const [migrated] = await checked('migrate')

  expect(doctor?.['findings']).not.toHaveLength(0)
  expect(migrated).toMatchObject({ applied: [] })
})

test('each kind of trouble has its exit code and a message without a stack', { timeout }, async () => {
  const cases: Array<{ words: string[]; env: Record<string, string>; code: number; says: RegExp }> = [
    { words: ['statu'], env: {}, code: 2, says: /Did you mean status/ },
    { words: ['sync', '--strem', 'x'], env: {}, code: 2, says: /Did you mean --stream/ },
    { words: ['explain', '--profile', 'x'], env: {}, code: 2, says: /required option '--date <day>'/ },
    { words: ['gaps', '--profile', 'nobody'], env: {}, code: 2, says: /not known here/ },
    { words: ['profiles', 'show', 'nobody'], env: {}, code: 2, says: /has this id/ },
    { words: ['failures', 'retry'], env: {}, code: 2, says: /--all/ },
    {
      words: ['runs'],
      env: { DATABASE_URL: 'postgres://localhost:1/x' },
      code: 3,
      says: /nothing listens there\n.*DATABASE_URL/,
    },
    { words: ['status'], env: { QUEUE_URL: 'postgres://localhost:1/x' }, code: 3, says: /QUEUE_URL/ },
    { words: ['status'], env: { QUEUE_URL: 'redis://localhost:1' }, code: 3, says: /QUEUE_URL/ },
    { words: ['profiles', 'discover'], env: { UPSTREAM_URL: 'http://localhost:1' }, code: 3, says: /UPSTREAM_URL/ },
    { words: ['sync'], env: { TOKEN_KEY: '' }, code: 2, says: /TOKEN_KEY/ },
    {
      words: ['explain', '--profile', 'x', '--date', '2026-01-01'],
      env: { UPSTREAM_CLIENT_SECRET: 'wrong' },
      code: 2,
      says: /^vitalsync: upstream refuses the account's credentials: .*\n {2}→ Correct UPSTREAM_CLIENT_ID and UPSTREAM_CLIENT_SECRET/,
    },
  ]
  for (const { words, env, code, says } of cases) {
    const ended = await runProgram(words, { cwd: world.folder, env: { ...world.env, ...env } })

    expect(ended.stderr).toMatch(says)
    expect(ended.stderr).not.toMatch(/\n {4}at /)
    expect(ended.stdout).toBe('')
    expect([words, ended.code]).toEqual([words, code])
  }
})
