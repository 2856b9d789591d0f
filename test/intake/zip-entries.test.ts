import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test as base, expect, vi } from 'vitest'
import { UsageProblem } from '../../src/base/errors.ts'
import { DAY } from '../../src/base/time/units.ts'
import { openExportFiles } from '../../src/intake/export-files.ts'
import { exportFormats } from '../../src/intake/formats/known-formats.ts'
import { exportWriters } from '../../src/service/sandbox/exports/export-writers.ts'
import { zipOf } from '../../src/service/sandbox/exports/timed-logs.ts'
import { logsOf, samplePeople } from '../../src/service/sandbox/people/sample-people.ts'
import { importInto } from '../support/health-files.ts'
import { createSeries, mutated } from '../support/mutated-files.ts'

/** Copies lie in `temporary`, which is this test's own. */
const test = base.extend<{ folder: string; temporary: string }>({
  folder: async ({}, use) => {
    const folder = await mkdtemp(join(tmpdir(), 'vitalsync-zips-'))
    await use(folder)
    await rm(folder, { recursive: true })
  },
  temporary: async ({ folder }, use) => {
    const temporary = await mkdtemp(join(folder, 'tmp-'))
    vi.stubEnv('TMPDIR', temporary)
    await use(temporary)
    vi.unstubAllEnvs()
  },
})

const UPLOADS = 'DI_CONNECT/DI-Connect-Uploaded-Files/UploadedFiles_0-_Part1.zip'
const endMs = Date.parse('2026-03-02T12:00:00Z')
const fitZip = async () => {
  const [person] = samplePeople('zips', 1)
  const logs = person ? logsOf(person, { startMs: endMs - 2 * DAY, endMs }) : []
  return (await exportWriters['garmin-fit']?.(logs, 60))?.data ?? Buffer.alloc(0)
}
/** An account's export with damage in the packed bytes of its inner zip. */
const withBrokenInner = async () => {
  const zip = zipOf([{ name: UPLOADS, data: await fitZip() }])
  zip.fill(0xff, 30 + UPLOADS.length + 10, 30 + UPLOADS.length + 40)
  return zip
}
const zeros = (megabytes: number) => ({ name: 'day.fit', data: Buffer.alloc(megabytes * 1024 * 1024) })

test('the zips of FIT files in an account’s export are read as if they lay beside it, and no copy stays', async ({
  folder,
  temporary,
}) => {
  const inner = await fitZip()
  await writeFile(join(folder, 'alone.zip'), inner)
  await writeFile(join(folder, 'account.zip'), zipOf([{ name: UPLOADS, data: inner }]))
  const [alone, account] = await Promise.all(
    ['alone.zip', 'account.zip'].map(async (name) => {
      const exported = await openExportFiles(join(folder, name))
      const names = exported.files.map((file) => file.name)
      const { logs } = await importInto(new Map(), exported.files, { formats: exportFormats })
      await exported.close()
      return { names, logs }
    }),
  )

  expect(alone?.logs.length).toBeGreaterThan(100)
  expect(account?.logs).toEqual(alone?.logs)
  expect(account?.names).toEqual(alone?.names.map((name) => `${UPLOADS}/${name}`))
  expect(await readdir(temporary)).toEqual([])
})

test('the limits hold over both levels, and another zip in a zip is left as a file', async ({ folder, temporary }) => {
  const named = (index: number, ...parts: Parameters<typeof zipOf>[0]) => ({
    name: `UploadedFiles_0-_Part${index}.zip`,
    data: zipOf(parts),
  })
  const tooMuch = /unpacks to far too much/
  const refused: Array<[parts: Parameters<typeof zipOf>[0], says: RegExp]> = [
    [[named(1, zeros(200))], tooMuch],
    // Each zip alone grows by little: together they do not.
    [[named(1, zeros(60)), named(2, zeros(60)), named(3, zeros(60))], tooMuch],
    [[named(1, { name: '../day.fit', data: Buffer.alloc(10) })], /invalid relative path/],
    [[{ name: 'UploadedFiles_0-_Part1.zip', data: Buffer.from('PK\u0003\u0004 and no more') }], /no whole zip/],
    [[], /it is broken/],
    [Array.from({ length: 201 }, (_, index) => named(index)), /more than 200 zips in it/],
  ]
  for (const [index, [parts, says]] of refused.entries()) {
    const path = join(folder, `${index}.zip`)
    await writeFile(path, parts.length === 0 ? await withBrokenInner() : zipOf(parts))
    await expect(openExportFiles(path)).rejects.toThrow(says)
  }
  const third = named(1, named(2, zeros(1)), { name: 'inner.zip', data: zipOf([]) })
  await writeFile(join(folder, 'third.zip'), zipOf([third]))
  const exported = await openExportFiles(join(folder, 'third.zip'))

  expect(exported.files.map(({ name }) => name)).toEqual([
    'UploadedFiles_0-_Part1.zip/UploadedFiles_0-_Part2.zip',
    'UploadedFiles_0-_Part1.zip/inner.zip',
  ])
  await exported.close()
  expect(await readdir(temporary)).toEqual([])
})

test('mutated zips crash nothing, hang nothing, and each is read or refused', { timeout: 30 * 60_000 }, async ({
  folder,
  temporary,
}) => {
  const rounds = Number(process.env['FUZZ_ROUNDS'] ?? 40)
  const account = zipOf([{ name: UPLOADS, data: await fitZip() }])
  const path = join(folder, 'account.zip')
  const next = createSeries(11)
  for (let round = 0; round < rounds; round += 1) {
    await writeFile(path, mutated(account, next))
    const exported = await openExportFiles(path).catch((error: unknown) => {
      expect(error).toBeInstanceOf(UsageProblem)
    })
    if (!exported) continue
    await importInto(new Map(), exported.files, { timeZone: 'Europe/London', formats: exportFormats })
    await exported.close()
  }

  expect(await readdir(temporary)).toEqual([])
})
