import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet'
import { expect } from 'vitest'
import { catalogue } from '../../../config/streams.ts'
import { writeLake } from '../../../src/pipeline/export/write-lake.ts'
import { test as base } from '../../support/fixtures.ts'
import { insertPeople, peopleNames } from '../../support/insert-people.ts'
import { type Program, type ProgramEnd, startProgram } from '../../support/run-program.ts'
import { openTestPool } from '../../support/test-pool.ts'

const people = 60
const days = 100
/** Scores from 2 January to 11 April 2026, changed long ago, and two people's demographics. */
const fill = `with told as (
    insert into vitalsync.demographics (profile_id, body, digest, read_at, first_seen_at, changed_at)
    select id, '{"gender":"other"}', 1, now(), '2026-05-01', '2026-05-01' from vitalsync.profiles order by id limit 2
  )
  insert into vitalsync.scores (profile_id, score_date_time, type, value, state, body, digest, read_at, first_seen_at, changed_at)
  select id, '2026-01-01T23:30:00Z'::timestamptz + d * interval '1 day', 'sleep', d / 100.0, 'good', '{}', d, now(),
    '2026-05-01', '2026-05-01'
  from vitalsync.profiles, generate_series(1, ${days}) d`

const test = base.extend<{
  folder: string
  query: (text: string) => Promise<Array<Record<string, unknown>>>
  begin: (...words: string[]) => Program
  lake: (...words: string[]) => Promise<ProgramEnd>
}>({
  folder: async ({}, use) => {
    const folder = await mkdtemp(join(tmpdir(), 'vitalsync-lake-'))
    await use(folder)
    await rm(folder, { recursive: true, force: true })
  },
  query: async ({ warehouseUrl }, use) => {
    const pool = openTestPool(warehouseUrl, 1)
    await insertPeople(pool, peopleNames(people, 'person-', 3))
    await pool.query(fill)
    await use(async (text) => (await pool.query(text)).rows)
    await pool.end()
  },
  begin: async ({ folder, warehouseUrl, query: _ }, use) => {
    const started: Program[] = []
    await use((...words) => {
      const program = startProgram(['export', '--format', 'parquet', '--partition-by', 'month', ...words], {
        cwd: folder,
        env: { DATABASE_URL: warehouseUrl },
      })
      started.push(program)
      return program
    })
    for (const program of started) program.kill('SIGKILL')
    await Promise.all(started.map((program) => program.ended))
  },
  lake: async ({ begin }, use) =>
    use((...words) => begin('--stream', 'scores', '--stream', 'demographics', '--output', 'lake', ...words).ended),
})

const readScores = async (folder: string, month: string) =>
  parquetReadObjects({
    file: await asyncBufferFromFile(join(folder, 'lake', 'scores', `month=${month}`, 'data.parquet')),
    columns: ['external_id', 'score_date_time', 'value', 'revision'],
  })

test('every record is in the file of its month, once', async ({ lake, folder, query }) => {
  const { code, stdout, stderr } = await lake('--json')

  expect(code, stderr).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({
    streams: [
      { stream: 'scores', rows: people * days },
      { stream: 'demographics', rows: 2 },
    ],
    output: 'lake',
  })
  const months = (await readdir(join(folder, 'lake', 'scores'))).toSorted()
  expect(months).toEqual(['month=2026-01', 'month=2026-02', 'month=2026-03', 'month=2026-04'])
  for (const month of months.map((name) => name.slice('month='.length))) {
    const stored = await query(
      `select external_id, score_date_time, value, revision from warehouse.scores
       where to_char(score_date_time at time zone 'UTC', 'YYYY-MM') = '${month}' order by external_id, score_date_time`,
    )
    expect(await readScores(folder, month)).toEqual(stored)
  }
  const demographics = join(folder, 'lake', 'demographics', 'data.parquet')
  expect(await parquetReadObjects({ file: await asyncBufferFromFile(demographics) })).toHaveLength(2)
  expect((await stat(demographics)).mode & 0o077).toBe(0)
})

test('since an instant only the changed months are written, and each of them whole', async ({
  lake,
  folder,
  query,
}) => {
  await lake()
  const february = join(folder, 'lake', 'scores', 'month=2026-02', 'data.parquet')
  const before = await stat(february)
  await query(`update vitalsync.scores set value = 9, revision = 2, changed_at = now()
    where profile_id = 7 and score_date_time = '2026-03-01T23:30:00Z'`)
  const { stdout } = await lake('--since', '2026-06-01', '--json')

  const march = await readScores(folder, '2026-03')
  expect(march).toHaveLength(people * 31)
  expect(march.filter(({ value }) => value === 9)).toMatchObject([{ external_id: 'person-007', revision: 2 }])
  expect(JSON.parse(stdout).streams[0]).toEqual({ stream: 'scores', rows: people * 31 })
  expect((await stat(february)).ino).toBe(before.ino)
})

test('a month without records any more leaves the lake, and files of others stay', async ({ lake, folder, query }) => {
  await lake()
  const own = join(folder, 'lake', 'scores', 'month=2026-02', 'notes.txt')
  await writeFile(own, 'ours')
  await query(`delete from vitalsync.scores where score_date_time < '2026-03-01'`)
  await lake()

  expect((await readdir(join(folder, 'lake', 'scores'))).toSorted()).toEqual([
    'month=2026-02',
    'month=2026-03',
    'month=2026-04',
  ])
  expect(await readdir(join(folder, 'lake', 'scores', 'month=2026-02'))).toEqual(['notes.txt'])
  expect(await readFile(own, 'utf8')).toBe('ours')
})

test('an export that is stopped in the middle leaves the former files, and nothing else', async ({
  lake,
  folder,
  query,
  warehouseUrl,
}) => {
  await lake()
  const january = join(folder, 'lake', 'scores', 'month=2026-01', 'data.parquet')
  const before = await readFile(january)
  await query(`update vitalsync.scores set value = 9`)
  const stop = new AbortController()
  const pool = openTestPool(warehouseUrl, 1)
  const streams = catalogue.pulled.filter(({ name }) => name === 'scores')
  const written = await writeLake({
    pool,
    streams,
    folder: join(folder, 'lake'),
    since: undefined,
    signal: stop.signal,
    onProgress: () => stop.abort(), // behind the first rows of many
  })
  await pool.end()

  expect(written.streams[0]?.rows).toBeLessThan(people * days)
  expect(await readdir(join(folder, 'lake', 'scores', 'month=2026-01'))).toEqual(['data.parquet'])
  expect((await readFile(january)).equals(before)).toBe(true)
})

test('while one export writes a lake another is refused, and the lock goes with the first', async ({
  begin,
  lake,
  folder,
  warehouseUrl,
}) => {
  const pool = openTestPool(warehouseUrl, 1)
  const holder = await pool.connect()
  await holder.query('begin; lock table vitalsync.scores')
  const first = begin('--stream', 'scores', '--output', 'lake')
  await expect.poll(() => readdir(join(folder, 'lake')).catch(() => []), { timeout: 20_000 }).toContain('lock')
  const second = await lake()
  await holder.query('rollback')
  holder.release()
  await pool.end()

  expect([second.code, second.stderr]).toEqual([
    2,
    expect.stringContaining(`another export writes it (process ${first.pid})`),
  ])
  expect(await first.ended).toMatchObject({ code: 0 })
  expect(await readdir(join(folder, 'lake'))).toEqual(['scores'])
  expect(await readScores(folder, '2026-03')).toHaveLength(people * 31)
})

test('a lake that cannot be a folder is named with its cure', async ({ lake, folder }) => {
  await writeFile(join(folder, 'lake'), 'a file')
  const { code, stderr } = await lake()

  expect([code, stderr]).toEqual([2, expect.stringMatching(/lake: there is a file of this name\n.*Name a folder/)])
})

test('options that exclude one another are refused with the cure', async ({ begin }) => {
  const cases: Array<[words: string[], says: RegExp]> = [
    [['--stream', 'scores'], /needs a folder[\s\S]*--output lake/],
    [['--stream', 'scores', '--output', 'lake', '--format', 'csv'], /of parquet, not of csv/],
    [['--stream', 'scores', '--output', 'lake', '--state', 'state.json'], /keeps no state[\s\S]*--since/],
    [['--output', 'lake'], /no stream/],
  ]
  for (const [words, says] of cases) {
    const { code, stderr } = await begin(...words).ended
    expect([code, stderr]).toEqual([2, expect.stringMatching(says)])
  }
})
