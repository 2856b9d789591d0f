import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'
import { readConfig } from '../../config/env.ts'
import { variables } from '../../config/variables.ts'
import { parserMessageOf, wordsIn } from '../app/cli/parsing.ts'
import { blocksOf } from '../support/walk-page.ts'
import { files, lines, offence } from './sources.ts'

const read = (file: string) => readFileSync(file, 'utf8')
const documents = files.filter((file) => file.endsWith('.md') && !file.startsWith('test/'))
const pages = documents.filter((file) => file.startsWith('docs/') && file !== 'docs/README.md')
const isDecision = (file: string) => file.includes('/decisions/')

/** The anchors that a forge makes of headings: the same heading again gets a number. */
function anchorsOf(file: string): Set<string> {
  const seen = new Map<string, number>()
  const text = read(file).replaceAll(/^```[\s\S]*?^```$/gm, '')
  const anchors = [...text.matchAll(/^#{1,6} (.+)$/gm)].map(([, title = '']) => {
    const words = title.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase()
    const anchor = words.replaceAll(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(' ', '-')
    const times = seen.get(anchor) ?? 0
    seen.set(anchor, times + 1)
    return times === 0 ? anchor : `${anchor}-${times}`
  })
  return new Set(anchors)
}

/** The links of a line to our own files: a path from the top of the repository, and an anchor. */
const linksIn = (file: string, text: string) =>
  [
    ...text.matchAll(/\]\((?!\w+:)([^)\s]*)[^)]*\)|<(?:img|a|source)\b[^>]*?\b(?:src|href|srcset)="(?!\w+:)([^"]+)"/g),
  ].map(([, inText, inTag]) => {
    const [target = '', anchor] = (inText ?? inTag ?? '').split('#')
    const path = target === '' ? file : normalize(join(dirname(file), target)).replace(/\/$/, '')
    return { path, anchor }
  })

test('every link between our documents leads to a file, and to a heading of it', () => {
  const isThere = (path: string) => files.includes(path) || files.some((file) => file.startsWith(`${path}/`))
  const dead = lines(/\.md$|^llms\.txt$/).filter(({ file, text }) =>
    linksIn(file, text).some(
      ({ path, anchor }) =>
        !isThere(path) || (anchor !== undefined && path.endsWith('.md') && !anchorsOf(path).has(anchor)),
    ),
  )
  expect(dead.map(offence)).toEqual([])
})

test('no link of a page in the package leads out of the package', () => {
  const { files: packed }: { files: string[] } = JSON.parse(read('package.json'))
  const isPacked = (path: string) =>
    ['README.md', 'LICENSE', ...packed].some((entry) => path === entry || path.startsWith(`${entry}/`))
  const out = lines(/\.md$|^llms\.txt$/).filter(
    ({ file, text }) => isPacked(file) && linksIn(file, text).some(({ path }) => !isPacked(path)),
  )
  expect(out.map(offence)).toEqual([])
})

test('the map leads to every page but single decisions', () => {
  const map = read('docs/README.md')
  const linked = new Set(linksIn('docs/README.md', map).map(({ path }) => path))
  expect(pages.filter((file) => !isDecision(file) && !linked.has(file))).toEqual([])
})

test('each page says in its first line for whom it is', () => {
  expect(pages.filter((file) => !/^# .+\n\nFor \w/.test(read(file)))).toEqual([])
})

/** Pages that a test writes, or holds as a whole. */
const heldPages = ['imports', 'cli', 'metrics', 'limits'].map((name) => `docs/reference/${name}.md`)
/** The heads of tables whose rows a test holds. */
const heldTables =
  /^\| (type \| unit|kind \| (name|visible)|factor \| unit|score \| weights|name \| (values|when)|measure \||word \| meaning|cause \| (what is said|it means)|group \| state|route \| does|method \| path|records \| startDateTime|answer to|status or cause|rows \| are kept|figure \| value|state \| it means|script \| does|plan \||view \| (one row per|content))/

test('the documents have at most 30,000 words, without code, and without what a test writes or holds row by row', () => {
  const counted = documents
    .filter((file) => ![...heldPages, 'docs/why/proof.md'].includes(file))
    .map((file) =>
      read(file)
        .replaceAll(/^```[\s\S]*?^```$/gm, '')
        .replaceAll(/(?:^\|.*\n)+/gm, (table) => (heldTables.test(table) ? '' : table)),
    )
  const words = counted.join(' ').match(/\S*[\p{L}\p{N}]\S*/gu) ?? []
  expect(words.length).toBeLessThanOrEqual(30_000)
})

test('no block for a shell has a command or an option that does not exist', async () => {
  const typed = documents.flatMap((file) =>
    blocksOf(read(file))
      .filter(({ language }) => language === 'sh')
      .flatMap(({ text, line }) => commandsIn(text).map((command) => ({ place: `${file}:${line}`, command }))),
  )
  expect(typed.length).toBeGreaterThan(100)
  for (const { place, command } of typed) {
    const words = wordsIn(command) ?? []
    expect([place, command, await parserMessageOf(words)]).toEqual([place, command, ''])
  }
})

/** The commands of ours in a block; a text in quotes may go over several lines, what is computed, or to be filled in, is a word. */
const commandsIn = (text: string) =>
  text
    .replaceAll(/\$\(date [^()]*\)/g, '2026-01-31')
    .replaceAll(/\$\([^()]*(?:\([^()]*\)[^()]*)*\)/g, 'WORD')
    .replaceAll(/"[^"]*"/g, '"text"')
    .replaceAll(/<[^<>\n]*>/g, 'WORD')
    .split(/\n|&&|\||;|&$/m)
    .map((line) => line.replace(/\s#.*$|\s2?>.*$|\s&$/g, '').trim())
    .filter(
      (line) => /(?:^|\s)vitalsync\s/.test(line) && !/^(cd|mkdir|createdb|curl|docker|kubectl|systemctl)\b/.test(line),
    )

test('no document names a setting that does not exist', () => {
  const nameIn = /(?<!\$\{?)\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b/g
  const inSources = new Set(lines(/\.(tsx?|mjs|json|sh)$/).flatMap(({ text }) => text.match(nameIn) ?? []))
  const named = lines(/^(README|ARCHITECTURE|CONTRIBUTING|SECURITY)\.md$|^docs\/.*\.md$/).flatMap((line) =>
    (line.text.match(nameIn) ?? []).map((name) => ({ ...line, name })),
  )
  // A name that a page uses as `$NAME` is a variable of its example.
  const isOfExample = (file: string, name: string) => read(file).includes(`$${name}`)
  const unknown = named.filter(
    ({ file, name }) => !Object.hasOwn(variables, name) && !inSources.has(name) && !isOfExample(file, name),
  )
  expect(named.length).toBeGreaterThan(100)
  expect(unknown.map(offence)).toEqual([])
})

test('each setting is read by the program', () => {
  const words = new Set(
    lines(/^(src|jobs)\/.*\.(tsx?|mjs)$|^config\/env\.ts$/).flatMap(({ text }) => text.match(/\w+/g) ?? []),
  )
  expect(Object.keys(variables).filter((name) => !words.has(name))).toEqual([])
  const ofProgram = new Set(lines(/^(src|jobs)\/.*\.(tsx?|mjs)$/).flatMap(({ text }) => text.match(/\w+/g) ?? []))
  expect(Object.keys(readConfig({})).filter((name) => !ofProgram.has(name))).toEqual([])
})

/** A page's title, and the first sentence below it; the title of a decision says it all. */
function entryOf(file: string): string {
  const [, title = file, first = ''] = /^# (.+)\n+((?:[^\n#|`].*\n?)*)/.exec(read(file)) ?? []
  const [sentence = ''] = isDecision(file) ? [] : (/^.*?[.:](?=\s|$)/s.exec(first.replaceAll('\n', ' ').trim()) ?? [])
  const plain = sentence.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/[.:]$/, '')
  return `- [${title}](${file})${plain ? `: ${plain}` : ''}`
}

test('llms.txt lists every page (npx vitest -u writes it again)', async () => {
  const main = ['README.md', 'ARCHITECTURE.md', 'docs/README.md', ...pages.filter((file) => !isDecision(file))]
  const text = `# vitalsync

> Copies what a health data service derives about people into a Postgres warehouse, every night, and can say for each person,
> stream and day that the data is there, or why it is not.

## Pages

${main.map(entryOf).join('\n')}

## Optional

${[...documents.filter((file) => !main.includes(file) && !isDecision(file)), ...pages.filter(isDecision)].map(entryOf).join('\n')}
`
  await expect(text).toMatchFileSnapshot('../../llms.txt')
})
