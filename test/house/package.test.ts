import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { files, lines, offence } from './sources.ts'

const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))

test('each export of the package is compiled from a source, and nothing of the tests is packed', () => {
  const named = Object.values<{ default?: string }>(manifest.exports).flatMap(({ default: file }) => file ?? [])
  const sources = named.map((file) => file.replace('./dist/', '').replace(/\.js$/, '.ts'))

  expect(named).toHaveLength(2)
  expect(sources.filter((file) => !files.includes(file))).toEqual([])
  expect(manifest.files.filter((path: string) => /^(test|\.|src$)|\.ts$/.test(path))).toEqual([])
})

test('an installation of the program alone has no compiler, linter or test runner', () => {
  const lock: { packages: Record<string, { dev?: boolean }> } = JSON.parse(
    readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8'),
  )
  const tools = Object.entries(lock.packages).filter(([path]) =>
    /\/(@typescript|@biomejs|@rolldown|@oxc-parser|vitest)\b/.test(path),
  )
  const installed = tools.filter(([, { dev }]) => !dev)

  expect(tools.length).toBeGreaterThan(20)
  expect(installed.map(([path]) => path)).toEqual([])
})

test('beside its code the program reads only files that the build copies', () => {
  const read = lines(/^(src|jobs)\/.*\.ts$/).flatMap(({ file, text }) =>
    [...text.matchAll(/new URL\((['`][^'`]+['`]), import\.meta\.url\)/g)].map(([, path]) => `${file}: ${path}`),
  )

  // `npm run package` runs what is packed; this finds sooner that a new file has to be copied.
  expect(read.filter((line) => !/migrations\/|package\.json|recompute-thread|browser\//.test(line))).toEqual([])
})

test('a workflow names each action by the digest of its commit, for a tag can be moved', () => {
  const used = lines(/^\.github\/workflows\//).filter(({ text }) => /\buses:/.test(text))

  expect(used.length).toBeGreaterThan(2)
  expect(used.filter(({ text }) => !/@[0-9a-f]{40} # v\d/.test(text)).map(offence)).toEqual([])
})
