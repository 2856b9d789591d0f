import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const page = readFileSync('CONTRIBUTING.md', 'utf8')

test('CONTRIBUTING.md has a row for each script, and no other', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'))
  const rows = [...page.matchAll(/^\| `npm (?:run )?([\w:-]+)` \|/gm)].map(([, name = '']) => name)

  expect(rows.toSorted()).toEqual(Object.keys(scripts).toSorted())
})

test('the paths that CONTRIBUTING.md and ARCHITECTURE.md name are there', () => {
  const pages = `${page}\n${readFileSync('ARCHITECTURE.md', 'utf8')}`
  const paths = [...pages.matchAll(/`((?:src|jobs|config|test|docs)\/[\w./-]+)`/g)].map(([, path = '']) => path)

  expect(paths.length).toBeGreaterThan(40)
  expect([...new Set(paths)].filter((path) => !existsSync(path))).toEqual([])
})
