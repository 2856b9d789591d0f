import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { controlPath, controlRoutes } from '../../../src/service/sandbox/control-routes.ts'
import { faultCatalogue } from '../../../src/service/sandbox/faults/fault-catalogue.ts'
import { planNames } from '../../../src/service/sandbox/people/planned-people.ts'
import { samplePeople } from '../../../src/service/sandbox/people/sample-people.ts'
import { lightPeopleMax, richPeopleMax } from '../../../src/service/sandbox/people/sample-person.ts'

const page = await readFile(new URL('../../../docs/how-to/sandbox.md', import.meta.url), 'utf8')

/** The cells of every row of the page's tables that begins with `code`. */
const rows = page
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => line.split('|').map((cell) => cell.trim()))

test('the page lists every fault as it is', () => {
  for (const [name, { when, settings, what }] of Object.entries(faultCatalogue)) {
    const told = Object.entries(settings).map(([setting, value]) => `\`${setting}\` ${value}`)
    expect(rows.find((row) => row[1] === `\`${name}\``)).toEqual(['', `\`${name}\``, when, told.join(', '), what, ''])
  }
})

test('the page lists no unknown fault', () => {
  const named = rows.filter((row) => ['door', 'answer', 'records', 'frame'].includes(row[2] ?? '')).map((row) => row[1])
  expect(named.length).toBe(Object.keys(faultCatalogue).length)
})

test('the page lists every control route and no other', () => {
  const told = rows
    .map((row) => row[1]?.replaceAll('`', ''))
    .filter((cell) => /^(GET|PUT|POST|DELETE) /.test(cell ?? ''))
  expect(told.toSorted()).toEqual(
    ['GET /', ...controlRoutes.map(({ method, path }) => `${method} ${path.replace(controlPath, '')}`)].toSorted(),
  )
})

test('the page lists every plan of people with planned causes', () => {
  for (const plan of planNames) expect(rows.some((row) => row[1] === `\`${plan}\``)).toBe(true)
})

test('the page lists every kind of person, and how many have detailed logs', () => {
  for (const { kind } of samplePeople('any', 8)) expect(rows.some((row) => row[1] === `\`${kind}\``)).toBe(true)
  expect(page).toContain(`The first ${richPeopleMax} people`)
  expect(page).toContain(`to the ${lightPeopleMax}th`)
})
