import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { readResults } from './kept-results.ts'
import { pageOf } from './page.ts'
import { parts } from './parts.ts'
import { promises, testFileOf } from './promises.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

test('docs/why/proof.md shows the results that are kept', () => {
  const page = readFileSync(new URL('../../docs/why/proof.md', import.meta.url), 'utf8')

  expect(page, 'npm run proof -- --page makes it again').toBe(pageOf(parts, readResults()))
})

test('each promise has a test of its number', () => {
  for (const number of Object.keys(promises)) expect(testFileOf(Number(number))).toMatch(/^test\/promises\//)
})

test('each property of an open input names tests that are there', () => {
  const properties = readFileSync(new URL('properties.md', import.meta.url), 'utf8')
  const tests = [...properties.matchAll(/`(test\/[\w/.-]+)`/g)].map(([, name = '']) => name)

  expect(tests.length).toBeGreaterThan(20)
  expect(tests.filter((name) => globSync(`${name}{,.test.ts}`, { cwd: root }).length === 0)).toEqual([])
})

test('the figures that the README gives are those of the last proof', () => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
  const [, paragraph = ''] = /<!-- proof -->\n([\s\S]*?)\n<!-- \/proof -->/.exec(readme) ?? []
  const known = JSON.stringify(readResults()).replaceAll(/(?<=\d),(?=\d{3})/g, '')
  const figures = [...paragraph.matchAll(/\d[\d,.]*\d|\d/g)].map(([text]) => text.replaceAll(',', ''))

  expect(figures.filter((figure) => !known.includes(figure))).toEqual([])
})
