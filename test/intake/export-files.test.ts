import { execFileSync } from 'node:child_process'
import { chmod, chown, mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { test as base, expect } from 'vitest'
import { openExportFiles } from '../../src/intake/export-files.ts'
import { readBytesFrom } from '../../src/intake/input-file.ts'
import { fileOf, importInto } from '../support/health-files.ts'

const test = base.extend<{ folder: string }>({
  folder: async ({}, use) => {
    const folder = await mkdtemp(join(tmpdir(), 'vitalsync-files-'))
    await use(folder)
    await rm(folder, { recursive: true })
  },
})

const beatAt = (minute: number) => {
  const at = `2026-03-02 ${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}:00 +0000`
  return `<Record type="HKQuantityTypeIdentifierHeartRate" sourceName="Watch" unit="count/min" startDate="${at}" endDate="${at}" value="60"/>`
}
const beats = `<HealthData>${Array.from({ length: 1400 }, (_, minute) => beatAt(minute)).join('\n')}</HealthData>`

test('a pipe, standard input and a device are refused at once, with what to do', async ({ folder }) => {
  const pipe = join(folder, 'pipe')
  execFileSync('mkfifo', [pipe])
  for (const [path, says] of [
    [pipe, /no ordinary file/],
    ['/dev/null', /no ordinary file/],
    ['-', /not read from standard input/],
  ] as const)
    await expect(openExportFiles(path)).rejects.toThrow(says)
})

test('a file that shrinks while it is read gives its remaining records, and is reported', async ({ folder }) => {
  const path = join(folder, 'export.xml')
  await writeFile(path, beats)
  const exported = await openExportFiles(path)
  await truncate(path, beats.length / 2)
  const { logs, rejects } = await importInto(new Map(), exported.files)

  expect(logs.length).toBeGreaterThan(600)
  expect(rejects.map(({ reason }) => reason)).toEqual([`read ${path}: it became shorter while it was read`])
})

test('lines that are cut off while a file is read are missed', async ({ folder }) => {
  const path = join(folder, 'lines.ndjson')
  const line = '{"externalId":"ada"}\n'
  await writeFile(path, line.repeat(50_000))
  const { files } = await openExportFiles(path)
  const opened = [await files[0]?.open(), await readBytesFrom(path, line.length * 10)]
  await truncate(path, line.length * 20_000)

  for (const bytes of opened) await expect(text(Readable.from(bytes ?? []))).rejects.toThrow('it became shorter')
})

test('a full disk ends the import: it is no fault of the file', async () => {
  const whole = fileOf('export.xml', beats)
  let opened = 0
  const open = async () => {
    opened += 1
    if (opened > 1) throw Object.assign(new Error('no space left'), { code: 'ENOSPC' })
    return whole.open()
  }

  await expect(importInto(new Map(), [{ ...whole, open }])).rejects.toThrow('no space left')
})

test('a file that grows while it is read, and one that is gone, end no import', async ({ folder }) => {
  await writeFile(join(folder, 'a.xml'), beats.slice(0, beats.length / 2))
  await writeFile(join(folder, 'b.xml'), beats)
  const exported = await openExportFiles(folder)
  await writeFile(join(folder, 'a.xml'), beats)
  await rm(join(folder, 'b.xml'))
  const { logs, reports, unread } = await importInto(new Map(), exported.files)

  expect([logs.length, reports.length, unread.map(({ reason, isLeftOut }) => [reason, isLeftOut])]).toEqual([
    1400,
    1,
    [['it cannot be read', false]],
  ])
})

test('a file without the right to read it is reported, and the rest of its folder is read', async ({ folder }) => {
  const isRoot = process.geteuid?.() === 0
  const nobody = 65_534
  if (isRoot) await chown(folder, nobody, nobody)
  const secret = join(folder, 'secret')
  await mkdir(secret, { mode: 0 })
  await writeFile(join(folder, 'a.xml'), beats)
  await writeFile(join(folder, 'b.xml'), beats, { mode: 0 })
  if (isRoot) process.seteuid?.(nobody) // root may read every file
  try {
    const { files, unopened } = await openExportFiles(folder)

    expect(files.map(({ name }) => name)).toEqual(['a.xml'])
    expect(unopened).toEqual([
      { file: 'secret', reason: 'a folder that this user may not read' },
      { file: 'b.xml', reason: 'a file that this user may not read' },
    ])
    await expect(openExportFiles(join(folder, 'b.xml'))).rejects.toThrow(/EACCES/)
    await expect(openExportFiles(secret)).rejects.toThrow(/EACCES/)
  } finally {
    if (isRoot) process.seteuid?.(0)
    await chmod(secret, 0o700)
  }
})
