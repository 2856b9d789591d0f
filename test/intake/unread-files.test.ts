import { expect, test } from 'vitest'
import { exportFormats } from '../../src/intake/formats/known-formats.ts'
import { fileOf, importInto } from '../support/health-files.ts'

const strange = { reason: 'no known format', isLeftOut: false }
const read = async (...files: ReadonlyArray<readonly [name: string, text: string]>) => {
  const { unread, reports } = await importInto(
    new Map(),
    files.map(([name, text]) => fileOf(name, text)),
    { formats: exportFormats, timeZone: 'Europe/Berlin' },
  )
  return { unread, reports }
}

test('files that are not read are listed with their columns, those with the same columns once', async () => {
  const { unread } = await read(
    ['a/strange_1.csv', '\ufeffvon;bis;"tief (s)"\r\n1;2;3\r\n'],
    ['a/strange_2.csv', 'von;bis;"tief (s)"\n4;5;6\n'],
    ['a/other.json', '[{"glucose": 5.1, "when": {"at": "2026-07-01"}}, {"glucose": 5.2}]'],
    ['a/numbers.csv', '2026-07-01,98.5\n'],
    ['a/unknown.bin', 'x'],
  )

  expect(unread).toEqual([
    { ...strange, files: 2, file: 'a/strange_1.csv', columns: ['von', 'bis', 'tief (s)'] },
    { ...strange, files: 1, file: 'a/other.json', columns: ['glucose', 'when', 'at'] },
    { ...strange, files: 2, file: 'a/numbers.csv', columns: [] },
  ])
})

test('files that are left out on purpose have the reason of the mapping, and are no loss', async () => {
  const { unread } = await read(
    ['withings/aggregates_steps.csv', 'date,value\n2026-07-01,170\n'],
    ['apple_health_export/export_cda.xml', '<ClinicalDocument/>'],
    ['apple_health_export/workout-routes/route.gpx', '<gpx/>'],
    ['Takeout/README.txt', 'hello'],
    ['Takeout/Fitbit/Biometrics/Glucose 202607.csv', ''],
  )

  expect(unread.map(({ isLeftOut }) => isLeftOut)).toEqual([true, true, true, true, true])
  expect(unread.map(({ reason }) => reason)).toContain('days’ sums of the raw files')
})

test('a thousand strange files give a bounded list', async () => {
  const files = Array.from({ length: 1000 }, (_, index) => [`s_${index}.csv`, `a${index},b\nx,y\n`] as const)
  const { unread } = await read(...files)

  expect(unread.length).toBeLessThanOrEqual(201)
  expect(unread.reduce((sum, kind) => sum + kind.files, 0)).toBe(1000)
})
