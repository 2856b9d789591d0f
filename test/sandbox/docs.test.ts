import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { controlRoutes } from '../../src/service/sandbox/control.ts'
import { faults } from '../../src/service/sandbox/faults/catalogue.ts'
import { peopleOf } from '../../src/service/sandbox/people/people.ts'
import { lightMax, richMax } from '../../src/service/sandbox/people/person.ts'

const page = await readFile(new URL('../../docs/sandbox.md', import.meta.url), 'utf8')

/** The cells of every row of the page's tables that begins with `code`. */
const rows = page
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => line.split('|').map((cell) => cell.trim()))

test('the page lists every fault as it is', () => {
  for (const [name, { when, settings, what }] of Object.entries(faults)) {
    const told = Object.entries(settings).map(([setting, value]) => `\`${setting}\` ${value}`)
    expect(rows.find((row) => row[1] === `\`${name}\``)).toEqual(['', `\`${name}\``, when, told.join(', '), what, ''])
  }
})

test('the page lists no fault that is none', () => {
  const named = rows.filter((row) => ['door', 'answer', 'records'].includes(row[2] ?? '')).map((row) => row[1])
  expect(named.length).toBe(Object.keys(faults).length)
})

test('the page lists every control route and no other', () => {
  const told = rows
    .map((row) => row[1]?.replaceAll('`', ''))
    .filter((cell) => /^(GET|PUT|POST|DELETE) /.test(cell ?? ''))
  expect(told.toSorted()).toEqual(['GET /', ...Object.keys(controlRoutes)].toSorted())
})

test('the page knows every kind of person, and how many are told in detail', () => {
  for (const { kind } of peopleOf('any', 8)) expect(rows.some((row) => row[1] === `\`${kind}\``)).toBe(true)
  expect(page).toContain(`The first ${richMax} people`)
  expect(page).toContain(`to the ${lightMax}th`)
})
