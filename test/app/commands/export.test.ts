import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet'
import { expect } from 'vitest'
import { test as base } from '../../support/fixtures.ts'
import { insertPeople, peopleNames } from '../../support/insert-people.ts'
import { countLockWaiters } from '../../support/lock-waiters.ts'
import {
  entry,
  type Program,
  type ProgramEnd,
  runProgram,
  startCommand,
  startProgram,
} from '../../support/run-program.ts'
import { openTestPool } from '../../support/test-pool.ts'

type Query = (text: string, values?: unknown[]) => Promise<Array<Record<string, unknown>>>
type Fixtures = {
  folder: string
  begin: (...words: string[]) => Program
  run: (...words: string[]) => Promise<ProgramEnd>
  query: Query
  /** Keeps every export before its first row, until the session that is returned commits. */
  lockScores: () => Promise<{ query: (text: string) => Promise<unknown> }>
}

const timeout = 300_000
const people = 120
/** Enough days that a page of profiles has more rows than one read of the cursor returns. */
const days = 45
const rows = people * days

/** Stores scores of many profiles, changed long ago. */
const fill = `insert into vitalsync.scores (profile_id, score_date_time, type, value, state, body, digest, read_at, first_seen_at, changed_at)
  select id, '2026-01-01'::timestamptz + d * interval '1 day' + interval '123456 microseconds', 'sleep', d / 3.0,
    case when d % 2 = 0 then 'a, "b"' else '' end, jsonb_build_object('n', 12345678901234567890, 'd', d)::text, d, now(),
    '2026-06-01', '2026-06-01'
  from vitalsync.profiles, generate_series(1, ${days}) d`

const test = base.extend<Fixtures>({
  folder: async ({}, use) => {
    const folder = await mkdtemp(join(tmpdir(), 'vitalsync-export-'))
    await use(folder)
    await rm(folder, { recursive: true, force: true })
  },
  query: async ({ warehouseUrl }, use) => {
    const pool = openTestPool(warehouseUrl, 1)
    await insertPeople(pool, peopleNames(people, 'person-', 4))
    await pool.query(fill)
    await use(async (text, values) => (await pool.query(text, values)).rows)
    await pool.end()
  },
  lockScores: async ({ warehouseUrl, query: _ }, use) => {
    const pool = openTestPool(warehouseUrl, 1)
    await use(async () => {
      await pool.query('begin')
      await pool.query('lock vitalsync.scores')
      return pool
    })
    await pool.end()
  },
  begin: async ({ folder, warehouseUrl, query: _ }, use) => {
    const started: Program[] = []
    await use((...words) => {
      const env = { DATABASE_URL: warehouseUrl }
      const program = startProgram(['export', '--stream', 'scores', ...words], { cwd: folder, env })
      started.push(program)
      return program
    })
    for (const program of started) program.kill('SIGKILL')
    await Promise.all(started.map((program) => program.ended))
  },
  run: async ({ begin }, use) => use((...words) => begin(...words).ended),
})

/** The state of an export that was stopped behind the 50th person, when it had written this. */
const stoppedState = (written: string) =>
  JSON.stringify({
    bookmarks: { scores: { upto: new Date().toISOString(), after: '50' } },
    bytes: written.length,
    sha256: createHash('sha256').update(written).digest('hex'),
  })

const linesOf = (text: string) => text.split('\n').filter(Boolean)
const nameOf = (row: Record<string, unknown>) => `${row['external_id']} ${row['score_date_time']}`

test('NDJSON and CSV hold every row once, value for value', { timeout }, async ({ run, folder }) => {
  const { stdout, code, stderr } = await run()
  const file = join(folder, 'scores.csv')
  const summary = await run('--format', 'csv', '--output', file, '--json')

  const objects = linesOf(stdout).map((line) => JSON.parse(line))
  expect(code, stderr).toBe(0)
  expect(new Set(objects.map(nameOf)).size).toBe(rows)
  expect(objects[0]).toMatchObject({
    external_id: 'person-0001',
    score_date_time: '2026-01-02T00:00:00.123456Z',
    value: 1 / 3,
    state: '',
    gone_at: null,
    revision: 1,
  })
  expect(linesOf(stdout)[0]).toContain('12345678901234567890') // all digits are exported
  expect(JSON.parse(summary.stdout)).toMatchObject({ streams: [{ stream: 'scores', rows }], output: file })
  const cells: Array<Record<string, string>> = parse(await readFile(file), { columns: true })
  expect(cells.map(nameOf)).toEqual(objects.map(nameOf))
  expect(cells[1]).toMatchObject({ state: 'a, "b"', gone_at: '', revision: '1' })
})

test('Parquet reads back as it was written, and half a file is never left behind', { timeout }, async ({
  run,
  begin,
  folder,
}) => {
  const file = join(folder, 'scores.parquet')
  await run('--format', 'parquet', '--output', file)
  const buffer = await asyncBufferFromFile(file)
  const { num_rows: count } = await parquetMetadataAsync(buffer)
  const [first] = await parquetReadObjects({ file: buffer, rowStart: 0, rowEnd: 1 })
  const other = join(folder, 'other.parquet')
  const killed = begin('--format', 'parquet', '--output', other)
  await killed.said(/rows/)
  killed.kill('SIGINT')
  const ended = await killed.ended

  expect(Number(count)).toBe(rows)
  expect(first).toMatchObject({ external_id: 'person-0001', value: 1 / 3, revision: 1, gone_at: null })
  expect(first?.['score_date_time']).toEqual(new Date('2026-01-02T00:00:00.123Z'))
  const whole = await stat(other).then(
    () => true,
    () => false,
  )
  expect(whole).toBe(ended.code === 0)
  await expect(stat(`${other}.partial`)).rejects.toThrow('ENOENT')
})

test('stopped anywhere it goes on where it was, into the same file', { timeout }, async ({ run, folder }) => {
  const file = join(folder, 'scores.ndjson')
  const state = join(folder, 'state.json')
  await run('--output', file, '--state', state)
  const whole = await readFile(file, 'utf8')
  const finished = JSON.parse(await readFile(state, 'utf8'))
  // The state after a kill behind the first page: the state file covers the first page, and the output holds more.
  const half = `${linesOf(whole)
    .slice(0, 50 * days)
    .join('\n')}\n`
  await writeFile(state, stoppedState(half))
  await truncate(file, half.length + 77)
  await run('--output', file, '--state', state)

  expect(await readFile(file, 'utf8')).toBe(whole)
  expect(finished.bookmarks.scores).toEqual({ since: expect.any(String) })
})

test('a stopped export is not carried on into a file without its rows, and Parquet begins from the beginning', {
  timeout,
}, async ({ run, folder }) => {
  const state = join(folder, 'state.json')
  await writeFile(state, stoppedState('x'.repeat(4000)))
  await writeFile(join(folder, 'shorter'), 'x'.repeat(3999))
  const longer = `y${'x'.repeat(4999)}`
  await writeFile(join(folder, 'longer'), longer)
  const other = await run('--output', join(folder, 'other'), '--state', state)
  const shorter = await run('--output', join(folder, 'shorter'), '--state', state)
  const into = await run('--output', join(folder, 'longer'), '--state', state)
  const parquet = await run('--format', 'parquet', '--output', join(folder, 'parquet'), '--state', state)

  expect([other.code, shorter.code, into.code, parquet.code]).toEqual([2, 2, 2, 0])
  expect(into.stderr).toContain('its first 4,000 bytes are not those that the stopped export had written')
  expect(await readFile(join(folder, 'longer'), 'utf8')).toBe(longer)
  expect(other.stderr).toContain('the stopped export had written 4,000 bytes, and it has 0')
  expect(shorter.stderr).toContain('the stopped export had written 4,000 bytes, and it has 3,999')
  await expect(stat(join(folder, 'other'))).rejects.toThrow('ENOENT')
  const { num_rows: count } = await parquetMetadataAsync(await asyncBufferFromFile(join(folder, 'parquet')))
  expect(Number(count)).toBe(rows)
  expect((await readFile(join(folder, 'parquet'))).subarray(0, 4).toString()).toBe('PAR1')
})

test('an output and a state are of one export at a time', { timeout }, async ({
  run,
  begin,
  query,
  folder,
  lockScores,
}) => {
  const holder = await lockScores()
  const writing = begin('--format', 'csv', '--output', 'scores.csv', '--state', 'state')
  const parquet = begin('--format', 'parquet', '--output', 'scores.parquet')
  await expect.poll(() => countLockWaiters(query), { timeout }).toBe(2)
  const refused = await Promise.all([
    run('--format', 'csv', '--output', 'scores.csv'),
    run('--format', 'csv', '--output', 'other.csv', '--state', 'state'),
    run('--format', 'parquet', '--output', 'scores.parquet'),
  ])
  await holder.query('commit')

  expect(refused.map(({ code, stderr }) => [code, stderr])).toEqual([
    [
      2,
      expect.stringMatching(
        /^vitalsync: lock output scores.csv: another export writes it \(process \d+\)\n {2}→ .*--output/,
      ),
    ],
    [
      2,
      expect.stringMatching(/^vitalsync: lock state state: another export writes it \(process \d+\)\n {2}→ .*--state/),
    ],
    [2, expect.stringMatching(/^vitalsync: lock output scores.parquet: another export writes it/)],
  ])
  expect((await writing.ended).code).toBe(0)
  expect((await parquet.ended).code).toBe(0)
  expect(linesOf(await readFile(join(folder, 'scores.csv'), 'utf8'))).toHaveLength(rows + 1)
  expect((await readdir(folder)).toSorted()).toEqual(['scores.csv', 'scores.parquet', 'state'])
})

test('an export into a pipe that is closed begins from the beginning', { timeout }, async ({
  run,
  folder,
  warehouseUrl,
}) => {
  // The reader goes after the first page of profiles.
  const line = `'${process.execPath}' '${entry}' export --stream scores --state state.json | head -n ${50 * days + 10}`
  await startCommand(line, { cwd: folder, env: { DATABASE_URL: warehouseUrl } }).ended
  const { stdout } = await run('--state', 'state.json')

  expect(linesOf(stdout)).toHaveLength(rows)
})

test('a stopped export begins from the beginning when its state was given to another stream since', {
  timeout,
}, async ({ run, folder, warehouseUrl }) => {
  const file = join(folder, 'scores.ndjson')
  const state = join(folder, 'state.json')
  const env = { DATABASE_URL: warehouseUrl }
  await run('--output', file)
  const whole = await readFile(file, 'utf8')
  const stopped = { bookmarks: { scores: { upto: new Date().toISOString(), after: '50' } }, bytes: 300_000 }
  await writeFile(state, JSON.stringify(stopped))
  await runProgram(['export', '--stream', 'tags', '--output', 'tags', '--state', state], { cwd: folder, env })
  await run('--output', file, '--state', state)

  expect(await readFile(file, 'utf8')).toBe(whole)
})

test('the next export brings what changed since, the last hour again, and nothing else', { timeout }, async ({
  run,
  query,
  folder,
}) => {
  const state = join(folder, 'state.json')
  await run('--state', state)
  // Read by a request half an hour ago, stored now.
  await query(`update vitalsync.scores set changed_at = now() - interval '30 minutes', revision = 2
    where profile_id = 7 and score_date_time < '2026-01-03'`)
  const second = await run('--state', state)
  const since = await run('--since', '2026-05-31')
  const after = await run('--since', '2026-06-02T00:00:00Z')

  expect(linesOf(second.stdout).map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ external_id: 'person-0007', revision: 2 }),
  ])
  expect(linesOf(since.stdout)).toHaveLength(rows)
  expect(linesOf(after.stdout)).toHaveLength(1)
})

test('a row that changes while the export runs is in the file', { timeout }, async ({ begin, query, lockScores }) => {
  const holder = await lockScores()
  const exporting = begin()
  await expect.poll(() => countLockWaiters(query), { timeout }).toBe(1)
  await holder.query('update vitalsync.scores set changed_at = clock_timestamp(), revision = 2 where profile_id = 7')
  await holder.query('commit')
  const { stdout, code } = await exporting.ended

  const written = linesOf(stdout).map((line) => JSON.parse(line))
  expect(code).toBe(0)
  expect(written.filter(({ revision }) => revision === 2)).toHaveLength(days)
  expect(written).toHaveLength(rows)
})

test('an export whose file others empty or take away does not end as if it were whole', { timeout }, async ({
  begin,
  query,
  folder,
  lockScores,
}) => {
  const holder = await lockScores()
  const exporting = ['emptied', 'removed'].map((name) => begin('--format', 'csv', '--output', name))
  await expect.poll(() => countLockWaiters(query), { timeout }).toBe(2)
  await truncate(join(folder, 'emptied'))
  await rm(join(folder, 'removed'))
  await holder.query('commit')

  for (const { ended } of exporting) {
    const { stderr, code } = await ended
    expect(stderr).toContain('something else wrote to it, or took it away')
    expect(code).toBe(2)
  }
})

test('Singer messages keep the rules of the specification, and a STATE leads on', { timeout }, async ({
  run,
  folder,
}) => {
  const { stdout } = await run('--stream', 'tags', '--format', 'singer')
  const messages = linesOf(stdout).map((line) => JSON.parse(line))
  const states = messages.filter(({ type }) => type === 'STATE')
  const state = join(folder, 'state.json')
  await writeFile(state, `nothing yet\n${JSON.stringify(states[0].value)}\n`)
  const rest = linesOf((await run('--format', 'singer', '--state', state)).stdout).map((line) => JSON.parse(line))

  const schemas = new Map<string, { properties: Record<string, { type: string | string[] }>; keys: string[] }>()
  for (const message of messages) {
    expect(['SCHEMA', 'RECORD', 'STATE']).toContain(message.type)
    if (message.type === 'SCHEMA') {
      schemas.set(message.stream, { properties: message.schema.properties, keys: message.key_properties })
      expect(message.key_properties.every((key: string) => key in message.schema.properties)).toBe(true)
    }
    if (message.type !== 'RECORD') continue
    const schema = schemas.get(message.stream) // a RECORD may only follow its SCHEMA
    expect(Object.keys(message.record)).toEqual(Object.keys(schema?.properties ?? {}))
    for (const [name, value] of Object.entries(message.record)) {
      const type = value === null ? 'null' : Number.isInteger(value) ? 'integer' : typeof value
      const allowed = [schema?.properties[name]?.type].flat()
      expect(allowed.includes(type) || (type === 'integer' && allowed.includes('number'))).toBe(true)
    }
    expect(schema?.keys.every((key) => message.record[key] !== null)).toBe(true)
  }
  expect(messages.filter(({ type }) => type === 'RECORD')).toHaveLength(rows)
  expect(Object.keys(states.at(-1).value.bookmarks)).toEqual(['scores', 'tags'])
  const told = messages.slice(0, messages.indexOf(states[0])).filter(({ type }) => type === 'RECORD').length
  expect(told).toBeGreaterThan(2000)
  expect(told + rest.filter(({ type }) => type === 'RECORD').length).toBe(rows)
})

test('a disk that takes only a part of what is written ends the export, and is named with the file', {
  timeout,
}, async ({ run, folder, warehouseUrl }) => {
  await run('--output', join(folder, 'whole'))
  const { size } = await stat(join(folder, 'whole'))
  // The last write is the one that does not fit: no later one fails.
  const line = `ulimit -f ${Math.floor((size - 1) / 512)}; exec '${process.execPath}' '${entry}' export --stream scores --output part`
  const { code, stderr } = await startCommand(line, { cwd: folder, env: { DATABASE_URL: warehouseUrl } }).ended

  expect(stderr).toContain('write part: the file is too large')
  expect(code).toBe(1)
})

test('a wrong option, state file or output is reported', { timeout }, async ({ run, folder }) => {
  const state = join(folder, 'state.json')
  await writeFile(state, 'nonsense')
  const cases: Array<[words: string[], says: RegExp]> = [
    [['--state', state], /no state of an export/],
    [['--format', 'xml'], /Allowed choices/],
    [['--stream', 'tags'], /takes one stream/],
    [['--since', 'yesterday'], /must be a date/],
    [['--output', join(folder, 'none', 'x')], /--output/],
  ]
  for (const [words, says] of cases) {
    const { code, stderr } = await run(...words)

    expect(stderr).toMatch(says)
    expect([1, 2]).toContain(code)
  }
})
