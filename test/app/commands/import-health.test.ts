import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { healthImportResult } from '../../../src/app/results/import-result.ts'
import { zipOf } from '../../../src/service/sandbox/exports/timed-logs.ts'
import { soon } from '../../support/fixtures.ts'
import { importTest } from './import-world.ts'

const timeout = 300_000
const test = importTest(['ada'])

const beatAt = (index: number, value = 60 + (index % 40)) => {
  const at = `${new Date(Date.UTC(2026, 0, 1) + index * 60_000).toISOString().slice(0, 19).replace('T', ' ')} +0000`
  return `<Record type="HKQuantityTypeIdentifierHeartRate" sourceName="Watch" unit="count/min" creationDate="${at}" startDate="${at}" endDate="${at}" value="${value}"/>\n`
}
const exportOf = (beats: number, more = '') =>
  Buffer.from(
    `<?xml version="1.0"?>\n<!DOCTYPE HealthData []>\n<HealthData>\n${Array.from({ length: beats }, (_, index) => beatAt(index)).join('')}${more}</HealthData>\n`,
  )
const inZip = (data: Buffer, name = 'apple_health_export/导出.xml') =>
  zipOf([
    { name, data },
    { name: 'apple_health_export/workout-routes/route.gpx', data: Buffer.from('<gpx></gpx>') },
  ])
const printed = (stdout: string) => healthImportResult.parse(JSON.parse(stdout))
const waiting = 'select coalesce(sum(waiting), 0)::int as n from vitalsync.parcels'

test('an export zip is recognised by its content, reported, and adds nothing the second time', { timeout }, async ({
  folder,
  start,
  query,
}) => {
  const file = join(folder, 'download')
  await writeFile(file, inZip(exportOf(2500, beatAt(9999, 900) + beatAt(0))))
  const words = [file, '--profile', 'ada', '--json']
  const rehearsed = printed((await start(...words, '--dry-run').ended).stdout)
  expect(await query(waiting)).toEqual([{ n: 0 }])
  const { stdout, code } = await start(...words).ended
  const first = printed(stdout)
  const again = printed((await start(...words).ended).stdout)
  const rehearsedAgain = printed((await start(...words, '--dry-run').ended).stdout)

  const file1 = { format: 'apple-health', read: 2502, mapped: 2501, logs: 2501, before: 0 }
  expect(first).toMatchObject({
    accepted: 2500,
    duplicate: 1,
    finished: true,
    files: [{ ...file1, firstDay: '2026-01-01' }],
  })
  expect(first.files[0]?.rejected).toEqual([{ reason: 'heart_rate lies outside 25 to 250', records: 1 }])
  expect(first.unread).toMatchObject([{ reason: 'a route', isLeftOut: true, files: 1 }])
  expect(code).toBe(1)
  expect(rehearsed).toEqual({ ...first, dryRun: true })
  expect(again).toMatchObject({ accepted: 0, duplicate: 2501 })
  expect(rehearsedAgain).toMatchObject({ accepted: 0, duplicate: 2501 })
  expect(await query(waiting)).toEqual([{ n: 2500 }])
  const rejects = (await readFile(`${file}.rejects.ndjson`, 'utf8')).trim().split('\n')
  expect(rejects.map((line) => JSON.parse(line))).toMatchObject([
    { file: 'apple_health_export/导出.xml', place: 'record 2501', reason: 'heart_rate lies outside 25 to 250' },
  ])
})

test('killed in the middle, the same command goes on, and everything is there once', { timeout }, async ({
  folder,
  start,
  query,
}) => {
  const file = join(folder, 'export.zip')
  const beats = 60_000
  await writeFile(file, inZip(exportOf(beats)))
  const first = start(file, '--profile', 'ada')
  await expect
    .poll(() => query(`select 1 from vitalsync.imports where kind = 'health-export' and position > 0`), soon)
    .toHaveLength(1)
  first.kill('SIGKILL')
  await first.ended
  const result = printed((await start(file, '--profile', 'ada', '--json').ended).stdout)

  expect(result.resumedAfter).toBeGreaterThanOrEqual(2000)
  expect(result.files[0]).toMatchObject({ read: beats, logs: beats, before: result.resumedAfter })
  expect(result.accepted + result.duplicate).toBe(beats)
  expect(await query(waiting)).toEqual([{ n: beats }])
  expect(await query('select count(*)::int as n from vitalsync.items')).toEqual([{ n: beats }])
})

test('a folder may hold several exports; its links are not followed', { timeout }, async ({ folder, start, query }) => {
  const exports = join(folder, 'exports')
  await mkdir(exports)
  await writeFile(join(exports, 'a.zip'), inZip(exportOf(10)))
  await writeFile(join(exports, 'b.xml'), exportOf(12))
  await writeFile(join(exports, 'notes.txt'), 'no export')
  await symlink('/etc/passwd', join(exports, 'c.xml'))
  const result = printed((await start(exports, '--profile', 'ada', '--json').ended).stdout)

  expect(result).toMatchObject({ accepted: 12, duplicate: 10 })
  expect(result.unread).toMatchObject([
    { reason: 'a route', isLeftOut: true, files: 1 },
    { reason: 'a text or a picture', isLeftOut: true, files: 1 },
    { reason: 'a link', isLeftOut: false, files: 1, file: 'c.xml' },
  ])
  expect(await query(waiting)).toEqual([{ n: 12 }])
})

test('a file of an export that is not read is listed with its columns, and the exit status says so unless it is allowed', {
  timeout,
}, async ({ folder, start, query }) => {
  await query('select 1')
  const exports = join(folder, 'exports')
  await mkdir(exports)
  await writeFile(join(exports, 'a.xml'), exportOf(3))
  await writeFile(join(exports, 'schlaf.csv'), 'von,bis,Puls\n1,2,3\n')
  const { stdout, code } = await start(exports, '--profile', 'ada').ended
  const allowed = await start(exports, '--profile', 'ada', '--allow-unread').ended
  const known = await start(join(exports, 'a.xml'), '--profile', 'ada').ended

  expect(stdout).toContain('not read: schlaf.csv, no known format; its columns: von, bis, Puls')
  expect([code, allowed.code, known.code]).toEqual([1, 0, 0])
})

test('where nothing at all is known, the error lists the exports that it was compared with, and the files', {
  timeout,
}, async ({ folder, start, query }) => {
  await query('select 1')
  const exports = join(folder, 'exports')
  await mkdir(exports)
  await writeFile(join(exports, 'schlaf.csv'), 'von,bis,Puls\n1,2,3\n')
  const { stderr, code } = await start(exports, '--profile', 'ada').ended
  await writeFile(join(folder, 'empty.zip'), zipOf([{ name: 'README.txt', data: Buffer.from('hello') }]))
  const empty = await start(join(folder, 'empty.zip'), '--profile', 'ada').ended

  expect([code, empty.code]).toEqual([2, 2])
  expect(stderr).toContain('Apple Health: export.zip')
  expect(stderr).toContain('FHIR R4 Observation: ')
  expect(stderr).toContain('Found: schlaf.csv (von, bis, Puls).')
  expect(empty.stderr).toContain('Found: README.txt.')
})

test('the same folder again adds nothing, though its files hold one record in two forms; --again imports it again', {
  timeout,
}, async ({ folder, start, query }) => {
  const exports = join(folder, 'exports')
  await mkdir(exports)
  await writeFile(join(exports, 'a.xml'), exportOf(10))
  await writeFile(join(exports, 'b.xml'), exportOf(0, beatAt(3, 99)))
  const words = [exports, '--profile', 'ada', '--json']
  const imported = async (...more: string[]) => printed((await start(...words, ...more).ended).stdout)
  const values = () => query(`select body like '%"value":99,%' as corrected from vitalsync.parcels where waiting > 0`)

  expect(await imported()).toMatchObject({ accepted: 11, duplicate: 0 })
  expect(await imported()).toMatchObject({ accepted: 0, duplicate: 11 })
  expect(await imported('--dry-run')).toMatchObject({ accepted: 0, duplicate: 11 })
  expect(await imported('--again')).toMatchObject({ accepted: 2, duplicate: 9 })
  expect(await query(waiting)).toEqual([{ n: 10 }])
  expect(await values()).toContainEqual({ corrected: true })
})

/** A zip whose one entry has these bytes at these offsets of its record in the list of entries. */
function tamperedZip(name: string, change: (record: Buffer) => void, data = exportOf(1)): Buffer {
  const zip = zipOf([{ name, data }])
  change(zip.subarray(zip.indexOf(Buffer.from('PK\u0001\u0002', 'latin1'))))
  return zip
}

test('a zip that could do harm is refused with the reason', { timeout }, async ({ folder, start, query }) => {
  await query('select 1')
  const bomb = tamperedZip('export.xml', () => undefined, Buffer.alloc(200 * 1024 * 1024))
  const hostile: Array<[zip: Buffer, says: RegExp]> = [
    [tamperedZip('../export.xml', () => undefined), /invalid relative path/],
    [tamperedZip('/tmp/export.xml', () => undefined), /absolute path/],
    [tamperedZip('export.xml', (record) => record.writeUInt32LE(0o120777 * 0x10000, 38)), /symbolic link/],
    [tamperedZip('export.xml', (record) => record.writeUInt16LE(1, 8)), /encrypted/],
    [bomb, /unpacks to far too much/],
    [inZip(exportOf(3)).subarray(0, 300), /no whole zip/],
    [zipOf([{ name: 'inner.zip', data: inZip(exportOf(3)) }]), /nothing there is a health export/],
  ]
  for (const [index, [zip, says]] of hostile.entries()) {
    const file = join(folder, `${index}.zip`)
    await writeFile(file, zip)
    const { code, stderr, stdout } = await start(file, '--profile', 'ada').ended

    expect(stderr).toMatch(says)
    expect(stderr).not.toMatch(/\n {4}at /)
    expect([index, code, stdout]).toEqual([index, 2, ''])
  }
  expect(await query(waiting)).toEqual([{ n: 0 }])
})

test('an entry that is larger than its zip says breaks off there, and is reported', { timeout }, async ({
  folder,
  start,
  query,
}) => {
  const file = join(folder, 'export.zip')
  await writeFile(
    file,
    tamperedZip('export.xml', (record) => record.writeUInt32LE(1_000_000, 24), exportOf(20_000)),
  )
  const result = printed((await start(file, '--profile', 'ada', '--json').ended).stdout)

  expect(result.files[0]?.rejected[0]?.reason).toMatch(/too many bytes/)
  expect(await query(waiting)).toEqual([{ n: result.accepted }])
})

test('a missing profile option and an unknown profile are reported', { timeout }, async ({ folder, start, query }) => {
  const file = join(folder, 'export.xml')
  await writeFile(file, exportOf(3))
  const unsaid = await start(file).ended
  const unknown = await start(file, '--profile', 'grace').ended
  const search = await start(file, '--profile', 'search', '--add-profiles', '--dry-run').ended
  const added = await start(file, '--profile', 'grace', '--add-profiles').ended

  expect([unsaid.code, unsaid.stderr]).toEqual([2, expect.stringContaining('--profile ID')])
  expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('--add-profiles')])
  expect([search.code, search.stderr]).toEqual([2, expect.stringContaining('"search" must not be')])
  expect([added.code, added.stdout]).toEqual([0, expect.stringContaining('vitalsync sync')])
  expect(await query(`select state from vitalsync.profiles where external_id = 'grace'`)).toEqual([{ state: 'new' }])
})
