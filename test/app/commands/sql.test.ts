import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { entry, runProgram, startCommand } from '../../support/run-program.ts'
import { scoreOf } from '../../support/sample-scores.ts'
import { test } from '../../support/test-pipeline.ts'

test('sql asks as the reader role, which sees the views, changes nothing and reads nothing else', async ({
  open,
  peer,
  onTestFinished,
}) => {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-sql-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const line = await open('postgres')
  await line.addProfiles('ada', 'bob')
  peer.give('ada', 'scores', [scoreOf(12, 0.25)])
  line.work()
  await line.tick('sync', { streams: ['scores'] })
  await line.idle()
  const program = { cwd: '/tmp', env: line.settings }
  const run = (...words: string[]) => runProgram(words, program)
  expect(await run('migrate')).toMatchObject({ code: 0, stderr: '' })
  const granted = await run('grant-reader', 'vitalsync_reader')
  expect(granted).toMatchObject({ code: 0 })
  expect(granted.stderr).toMatch(/^vitalsync_reader (was created and )?may read the views of schema warehouse\./)

  const table = await run('sql', 'select external_id, value from warehouse.scores;')
  expect(table).toMatchObject({ code: 0, stderr: '' })
  expect(table.stdout).toMatch(
    /^external_id +value\n.*\nada +0\.25\n\n1 row\n$|^external_id +value\nada +0\.25\n\n1 row\n$/,
  )
  const one = `select 1::int8 as small, 9007199254740993::int8 as large, date '2026-03-01' as day, null as nothing,
    '{"a":[1]}'::jsonb as object, timestamptz '2026-03-01 00:00+13' as at, 'NaN'::float8 as odd, true as yes`
  expect(JSON.parse((await run('sql', '--json', one)).stdout)).toEqual({
    small: 1,
    large: '9007199254740993',
    day: '2026-03-01',
    nothing: null,
    object: { a: [1] },
    at: '2026-02-28 11:00:00+00',
    odd: 'NaN',
    yes: true,
  })
  const equal = await run('sql', '--json', 'select 1 as a, 2 as a, 3 as a_2, 4 as a')
  expect(JSON.parse(equal.stdout)).toEqual({ a: 1, a_3: 2, a_2: 3, a_4: 4 })
  const csv = await run('sql', '--csv', `select n, null as nothing, '=1' as formula from generate_series(1, 1000) n`)
  const numbers = Array.from({ length: 1000 }, (_, index) => index + 1)
  expect(csv.stdout).toBe(`n,nothing,formula\n${numbers.map((n) => `${n},,'=1\n`).join('')}`)
  // Its letters of two bytes lie across the borders of what a pipe brings at once.
  const query = `select  '${'é'.repeat(40_000)}' = repeat('é', 40000) as same`
  await writeFile(join(folder, 'query.sql'), query)
  const piped = `cat query.sql | '${process.execPath}' '${entry}' sql --json`
  const same = await startCommand(piped, { cwd: folder, env: line.settings }).ended
  expect(JSON.parse(same.stdout)).toEqual({ same: true })
  const kept = await run(
    'sql',
    '--csv',
    `select E'a\\r\\nb' as lines, 'c ' as blank union all select null, null order by 1 nulls first`,
  )
  expect(kept.stdout).toBe('lines,blank\n,\n"a\nb",c \n')
  const many = await run('sql', '--json', 'select n from generate_series(1, 100000) n')
  expect(many.stdout.trim().split('\n')).toHaveLength(100_000)
  const few = await run('sql', '--limit', '2', 'select n from generate_series(1, 100000) n')
  expect(few.stdout).toMatch(/\n2 rows, and more: --limit, or --json for all\n$/)
  const session = `select session_user as login, current_user as role, setting::int as "timeoutMs"
    from pg_settings where name = 'statement_timeout'`
  const { login, role, timeoutMs } = JSON.parse((await run('sql', '--json', session)).stdout)
  expect([login, role]).toEqual(Array(2).fill(expect.stringMatching(/^vitalsync_questions/)))
  expect(timeoutMs).toBeGreaterThan(0)
  expect(timeoutMs).toBeLessThanOrEqual(600_000)
  const large = await run('sql', "select repeat('x', 70000000)")
  expect(large).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('a portion of its rows is larger than 64 MB'),
  })

  for (const forbidden of [
    'select * from vitalsync.tokens',
    'create table warehouse.mine ()',
    'delete from vitalsync.profiles',
    'set role none',
    'reset role; delete from vitalsync.profiles',
    'select pg_sleep(0); commit; delete from vitalsync.profiles',
  ]) {
    const refused = await run('sql', forbidden)
    expect(refused, forbidden).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr, forbidden).toMatch(/^vitalsync: run the query: /)
  }
  expect(await line.rows('select 1 from vitalsync.profiles')).toHaveLength(2)
  const typo = await run('sql', 'select * from warehouse.score')
  expect(typo).toMatchObject({ code: 1, stderr: expect.stringContaining('relation "warehouse.score" does not exist') })
  const { stdout } = await run('doctor')
  expect(stdout).toMatch(/✓ readers: .*vitalsync_reader/)
  expect(stdout).toContain('✓ questions: the role that answers them logs in')
})
