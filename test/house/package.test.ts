import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
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

test.each(['no link', 'a link that leads nowhere'])(
  'after an npm that leaves %s of node, scripts run under the packaged Node',
  (left) => {
    const folder = mkdtempSync(join(tmpdir(), 'vitalsync-link-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const program = join(folder, `node_modules/node-${process.platform}-${process.arch}/bin/node`)
    for (const path of [join(program, '..'), join(folder, 'node_modules/.bin'), join(folder, 'config')])
      mkdirSync(path, { recursive: true })
    symlinkSync(process.execPath, program)
    if (left !== 'no link') symlinkSync('../gone/bin/node', join(folder, 'node_modules/.bin/node'))
    const [, script = ''] = /^node (\S+)$/.exec(manifest.scripts.dependencies) ?? []
    cpSync(fileURLToPath(new URL(`../../${script}`, import.meta.url)), join(folder, script))

    for (const _ of ['npm ci', 'npm pack']) execFileSync(process.execPath, [join(folder, script)])

    expect(readFileSync(join(folder, 'node_modules/.bin/node')).equals(readFileSync(process.execPath))).toBe(true)
  },
)

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
