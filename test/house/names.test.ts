import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { expect, test } from 'vitest'
import { files } from './sources.ts'
import { exportedNamesOf } from './syntax.ts'

const program = files.filter((file) => /^(src|jobs|config)\/.*\.tsx?$/.test(file))

/** Maps each key to the files that have it, keys of one file left out. */
function sharedKeys(keysOf: (file: string) => readonly string[]): Record<string, string[]> {
  const pairs = program.flatMap((file) => keysOf(file).map((key) => ({ key, file })))
  const byKey = Map.groupBy(pairs, ({ key }) => key)
  const shared = [...byKey].filter(([, places]) => new Set(places.map(({ file }) => file)).size > 1)
  return Object.fromEntries(shared.map(([key, places]) => [key, places.map(({ file }) => file)]))
}

/** Exported names that two files declare, each with the reason why both keep the name. At most ten. */
const namesWithTwoMeanings: Readonly<Record<string, string>> = {}

test('an exported name means one thing, at most ten have a reason to mean two', () => {
  expect(Object.keys(sharedKeys(exportedNamesOf)).toSorted()).toEqual(Object.keys(namesWithTwoMeanings).toSorted())
  expect(Object.keys(namesWithTwoMeanings).length).toBeLessThanOrEqual(10)
})

/** Base names that stand in two rooms, each with the reason. A verb's file in commands/ and in cli/ is one of the house's rules. */
const baseNamesInTwoRooms: Readonly<Record<string, string>> = {
  'client.ts': 'the door of the package, and the client that it opens',
  'main.tsx': 'each page begins with it',
  'sandbox.ts': 'the door of the package, and the command that starts the same',
}

test('a file name stands once, but for a subject in commands/ and cli/', () => {
  const withoutCli = (file: string) => (file.startsWith('src/app/cli/') ? [] : [basename(file)])
  expect(Object.keys(sharedKeys(withoutCli)).toSorted()).toEqual(Object.keys(baseNamesInTwoRooms).toSorted())
  expect(Object.keys(baseNamesInTwoRooms).length).toBeLessThanOrEqual(10)
})

test('the glossary explains at most 25 words, each in one row', () => {
  const rows = readFileSync('docs/reference/glossary.md', 'utf8').match(/^\| (?!word |-)[^|]+/gm) ?? []
  const words = rows.map((row) => row.slice(2).trim())
  expect(words.length).toBeGreaterThan(10)
  expect(words.length).toBeLessThanOrEqual(25)
  expect(words).toEqual([...new Set(words)])
})
