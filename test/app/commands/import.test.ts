import { appendFile, readFile, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect } from 'vitest'
import { entriesImportResult } from '../../../src/app/results/import-result.ts'
import { soon } from '../../support/fixtures.ts'
import { entry, startCommand } from '../../support/run-program.ts'
import { importTest } from './import-world.ts'

const timeout = 300_000
const test = importTest(['ada', 'grace'])

const logAt = (index: number, externalId = index % 2 ? 'ada' : 'grace') => {
  const at = new Date(Date.UTC(2026, 0, 1) + index * 60_000).toISOString()
  const log = { logType: 'heart', dataType: 'heart_rate', value: 60 + (index % 40), unit: 'bpm', source: 'watch' }
  const how = { recordingMethod: 'automatically_recorded', deviceType: 'watch', startDateTime: at, endDateTime: at }
  return `${JSON.stringify({ externalId, ...log, ...how })}\n`
}
const logs = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => logAt(from + index)).join('')
/** Resolves when the progress of the first batch is stored: the terminal shows it only after some seconds. */
const underWay = (query: (text: string) => Promise<Array<Record<string, unknown>>>) =>
  expect.poll(() => query('select 1 from vitalsync.imports where position > 0'), soon).toHaveLength(1)
const printed = (stdout: string) => entriesImportResult.parse(JSON.parse(stdout))

test('good lines wait to be pushed, others are written down with line and reason', { timeout }, async ({
  folder,
  start,
  query,
}) => {
  const file = join(folder, 'logs.ndjson')
  await writeFile(file, `${logs(0, 10)}nonsense\n${logAt(10, 'stranger')}${logs(0, 2)}`)
  const { code, stdout } = await start('data-logs', file, '--json').ended

  expect(printed(stdout)).toMatchObject({ read: 14, accepted: 10, duplicate: 2, rejected: 2, finished: true })
  expect(code).toBe(1)
  const rejects = (await readFile(`${file}.rejects.ndjson`, 'utf8')).trim().split('\n')
  expect(rejects.map((line) => JSON.parse(line))).toEqual([
    { line: 11, reason: 'the line is not JSON', text: 'nonsense' },
    { line: 12, reason: expect.stringContaining('--add-profiles'), text: expect.stringContaining('stranger') },
  ])
  expect(await query('select sum(waiting)::int as n from vitalsync.parcels')).toEqual([{ n: 10 }])
})

test('nobody is taken in by a name that no request could ask for', { timeout }, async ({ folder, start, query }) => {
  const file = join(folder, 'logs.ndjson')
  const lines = [...['search', '..', 'nul\u0000'].map((name, index) => logAt(index, name)), logAt(3, 'newcomer')]
  await writeFile(file, lines.join(''))
  const { stdout } = await start('data-logs', file, '--add-profiles', '--json').ended

  expect(printed(stdout)).toMatchObject({ read: 4, accepted: 1, rejected: 3, finished: true })
  const rejects = (await readFile(`${file}.rejects.ndjson`, 'utf8')).trim().split('\n')
  expect(rejects.map((line) => JSON.parse(line).reason)).toEqual([
    ...Array(2).fill(expect.stringMatching(/^externalId: must not be "search", /)),
    'externalId: must not hold NUL or lone surrogates',
  ])
  expect(await query("select external_id from vitalsync.names where external_id not in ('ada', 'grace')")).toEqual([
    { external_id: 'newcomer' },
  ])
})

test('killed in the middle it resumes after the stored items, and everything is there once', { timeout }, async ({
  folder,
  start,
  query,
}) => {
  const file = join(folder, 'logs.ndjson')
  const lines = 30_000
  await writeFile(file, `nonsense\n${logs(0, lines)}nonsense\n`)
  const first = start('data-logs', file)
  await underWay(query)
  first.kill('SIGKILL')
  await first.ended
  // Rejected lines of a batch whose progress was not stored any more.
  await appendFile(`${file}.rejects.ndjson`, `${'x'.repeat(5000)}\n`)
  const second = await start('data-logs', file, '--json').ended

  const result = printed(second.stdout)
  expect(result).toMatchObject({ read: lines + 2, rejected: 2, finished: true })
  expect(result.accepted + result.duplicate).toBe(lines)
  expect(result.resumedAtLine).toBeGreaterThanOrEqual(1000)
  expect(await query('select sum(waiting)::int as n from vitalsync.parcels')).toEqual([{ n: lines }])
  expect(await query('select count(*)::int as n from vitalsync.items')).toEqual([{ n: lines }])
  const rejects = (await readFile(`${file}.rejects.ndjson`, 'utf8')).trim().split('\n')
  expect(rejects.map((line) => JSON.parse(line).line)).toEqual([1, lines + 2])
})

test('stopped by Ctrl-C it says so and resumes later; a changed file starts from the beginning', { timeout }, async ({
  folder,
  start,
  query,
}) => {
  const file = join(folder, 'logs.ndjson')
  const lines = 20_000
  await writeFile(file, logs(0, lines))
  const first = start('data-logs', file)
  await underWay(query)
  first.kill('SIGINT')
  const stopped = await first.ended
  // The same first bytes, other bytes before the position: the import must not resume there.
  await truncate(file, 70_000)
  await appendFile(file, `\n${logs(0, 100)}`)
  const second = printed((await start('data-logs', file, '--json').ended).stdout)

  expect(stopped.code).toBe(1)
  expect(stopped.stdout).toContain('carries on')
  expect(second).toMatchObject({ resumedAtLine: 0, finished: true })
})

test('the same file again is all duplicates, and people are taken in when asked for', { timeout }, async ({
  folder,
  start,
  query,
}) => {
  const file = join(folder, 'tags.csv')
  const head = 'externalId,type,name,source,startDateTime,value\n'
  await writeFile(file, `${head}mary,event,coffee,diary,2026-10-25 02:30:00,2\nada,event,tea,diary,2026-10-25,\n`)
  const words = ['tags', file, '--time-zone', 'Europe/Berlin', '--add-profiles', '--json']
  const first = printed((await start(...words).ended).stdout)
  const second = printed((await start(...words).ended).stdout)

  expect(first).toMatchObject({ accepted: 2, duplicate: 0, rejected: 0, rejects: null })
  expect(second).toMatchObject({ accepted: 0, duplicate: 2 })
  expect(await query(`select body::jsonb ->> 'startDateTime' as at from vitalsync.parcels`)).toEqual(
    expect.arrayContaining([{ at: '2026-10-25T02:30:00+02:00' }, { at: '2026-10-25T00:00:00+02:00' }]),
  )
  expect(await query(`select state from vitalsync.profiles where external_id = 'mary'`)).toEqual([{ state: 'new' }])
})

test('a fault of the whole file is reported in one message', { timeout }, async ({ folder, start, query }) => {
  await query('select 1')
  const file = join(folder, 'logs.csv')
  await writeFile(file, 'externalId,valeu\nada,1\n')
  const half = join(folder, 'half.csv')
  await writeFile(
    half,
    `externalId,logType,dataType,value,source,startDateTime,endDateTime\n${'ada,heart,heart_rate\n'.repeat(500)}`,
  )
  await writeFile(join(folder, 'logs.txt'), '')
  const [packed, misnamed] = ['logs.ndjson.gz', 'packed.ndjson'].map((name) => join(folder, name))
  for (const name of [packed, misnamed]) await writeFile(String(name), gzipSync(logs(0, 3)))
  const isPacked = /it is compressed by gzip\n {2}→ Unpack it: zcat logs\.gz \| vitalsync import … - --format ndjson\n/
  const cases: Array<[words: string[], says: RegExp]> = [
    [['data-logs', file], /Did you mean value\?/],
    [['data-logs', half], /need the column unit, recordingMethod, deviceType, and the first line has none/],
    [['data-logs', join(folder, 'none.csv')], /there is no such file/],
    [['data-logs', folder, '--format', 'csv'], /it is a folder/],
    [['data-logs', join(folder, 'logs.txt')], /--format/],
    [['data-logs', String(packed)], isPacked],
    [['data-logs', String(packed), '--format', 'ndjson'], isPacked],
    [['data-logs', String(misnamed)], isPacked],
    [['data-log', file], /Allowed choices/],
    [['tags', file, '--time-zone', 'Europe/Berln'], /time zone/],
  ]
  for (const [words, says] of cases) {
    const { code, stderr } = await start(...words).ended

    expect(stderr).toMatch(says)
    expect(stderr).not.toMatch(/\n {4}at /)
    expect([words, code]).toEqual([words, 2])
  }
})

test('a missing required column is reported once for standard input too', { timeout }, async ({
  folder,
  query,
  warehouseUrl,
}) => {
  await query('select 1')
  const line = `printf 'externalId,type,name\\nada,event,tea\\n' | "${process.execPath}" "${entry}" import tags - --format csv`
  const { code, stderr } = await startCommand(line, { cwd: folder, env: { DATABASE_URL: warehouseUrl } }).ended

  expect(stderr).toMatch(/tags need the column source, startDateTime/)
  expect(code).toBe(2)
})

test('types from which nothing is derived are reported with the closest word', { timeout }, async ({
  folder,
  start,
  query,
}) => {
  const file = join(folder, 'odd.ndjson')
  const typed = (index: number, dataType: string) =>
    logAt(index, 'ada').replace('"heart_rate"', JSON.stringify(dataType))
  const session = typed(6, 'exercise_session_rowing').replace('"heart"', '"exercise"')
  const symptom = typed(7, 'itching').replace('"heart"', '"symptom"')
  const types = ['heart_rat', 'heart_rat', 'Heart_Rate', 'luck', 'heart_rate']
  await writeFile(file, types.map((dataType, index) => typed(index, dataType)).join('') + session + symptom)
  const asText = await start('data-logs', file).ended
  const asJson = printed((await start('data-logs', file, '--again', '--json').ended).stdout)

  expect(asText.code).toBe(0)
  expect(asText.stdout).toContain('2 lines of a type from which nothing is derived: "heart_rat", is heart_rate meant?')
  expect(asText.stdout).toContain('1 line of a type from which nothing is derived: "luck"\n')
  expect(asJson.strangeTypes).toEqual([
    { type: 'heart_rat', closest: 'heart_rate', lines: 2 },
    { type: 'Heart_Rate', closest: 'heart_rate', lines: 1 },
    { type: 'luck', closest: null, lines: 1 },
  ])
  expect(await query('select sum(waiting)::int as n from vitalsync.parcels')).toEqual([{ n: 7 }])
})

test('the next sync is named only where something was added', { timeout }, async ({ folder, start, query }) => {
  await query('select 1')
  const [good, bad] = [join(folder, 'good.ndjson'), join(folder, 'bad.ndjson')]
  await writeFile(good, logs(0, 3))
  await writeFile(bad, 'nonsense\n')
  const said = async (file: string) => (await start('data-logs', file).ended).stdout

  expect(await said(good)).toContain('The next sync pushes them')
  const again = await said(good)
  expect(again).toContain('Nothing is new: all of it is here already.')
  const rejected = await said(bad)
  expect(rejected).toContain('Nothing was added.')
  for (const text of [again, rejected]) expect(text).not.toContain('next sync')
})
