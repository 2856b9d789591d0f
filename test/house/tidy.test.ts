import { basename, dirname } from 'node:path'
import { expect, test } from 'vitest'
import { slowFiles } from '../../config/slow-files-first.ts'
import { files, lines, linesOf, offence } from './sources.ts'
import { functionsOf } from './syntax.ts'

const program = /^(src|jobs|config)\/.*\.(tsx?|mjs)$/
const tests = /^test\/.*\.ts$/
const prose = /\.md$/
const code = /\.(tsx?|mjs)$/

const fileLinesMax = 300
/** A suite of one interface's cases reads better in one file than cut at a number. */
const testLinesMax = 450
const functionLinesMax = 70
const folderFilesMax = 25

test('no file of the program is longer than 300 lines', () => {
  const long = (pattern: RegExp, max: number) =>
    files
      .filter((file) => pattern.test(file) && linesOf(file).length > max)
      .map((file) => `${file}: ${linesOf(file).length}`)
  expect([...long(program, fileLinesMax), ...long(tests, testLinesMax)]).toEqual([])
})

const functions = files.filter((file) => /^(src|jobs|config)\/.*\.tsx?$/.test(file)).flatMap(functionsOf)

test('no function is longer than 70 lines', () => {
  const long = functions.filter(({ length }) => length > functionLinesMax)
  expect(long.map((line) => `${offence(line)} (${line.length} lines)`)).toEqual([])
})

test('no folder of the program holds more than 25 files', () => {
  const inFolders = files.filter((file) => /^(src|jobs|config)\//.test(file))
  const crowded = [...Map.groupBy(inFolders, dirname)].filter(([, held]) => held.length > folderFilesMax)
  expect(crowded.map(([folder, held]) => `${folder}: ${held.length}`)).toEqual([])
})

test('no type is any, cast away or silenced', () => {
  const waved = lines(program).filter(({ text }) =>
    /: any\b|as any\b|<any>|@ts-(ignore|nocheck|expect-error)|biome-ignore/.test(bare(text)),
  )
  expect(waved.map(offence)).toEqual([])
  const cast = lines(/^jobs\//).filter(({ text }) => / as (?!const\b)[A-Z{]/.test(bare(text)))
  expect(cast.map(offence)).toEqual([])
})

/** Without comments and texts, whose words are nobody's types. */
const bare = (text: string) => text.replace(/'[^']*'|`[^`]*`/g, "''").replace(/^\s*(\*|\/\*\*|\/\/).*|\/\/.*$/, '')

test('names say what a thing is, not what kind of thing', () => {
  const kinds = /(^|[-.])(manager|handler|helpers?|utils?|common|processor|base|entity|misc)([-.]|$)/
  expect(files.filter((file) => program.test(file) && kinds.test(basename(file)))).toEqual([])
  const declared = lines(program).filter(({ text }) =>
    /\b(class|type|interface|function|const) \w*(Manager|Handler|Helper|Utils?|Processor|Entity)\b/.test(bare(text)),
  )
  expect(declared.map(offence)).toEqual([])
  expect(files.filter((file) => code.test(file) && !/^[a-z0-9.-]+$/.test(basename(file)))).toEqual([])
})

test('tests wait for moments, take any port, and run the real thing', () => {
  const suspects = lines(/^test\/(?!bench\/).*\.ts$/).filter(({ text }) => {
    const words = bare(text)
    return (
      /\bvi\.(mock|doMock)\(/.test(text) ||
      /\bawait (sleep|wait|delay|pause)\(\d{2,}/.test(words) ||
      /setTimeout\((resolve|done|r), ?\d{2,}/.test(words)
    )
  })
  expect(suspects.map(offence)).toEqual([])
  const ports = lines(tests).filter(({ text }) => /\b(listen\(|port: ?)[1-9]\d{2,4}\b/.test(bare(text)))
  expect(ports.map(offence)).toEqual([])
})

test('names of tests say what is, not what ought to be', () => {
  const wishes = lines(/\.test\.ts$/).filter(({ text }) => /^\s*(test|it)(\.\w+)?\(\s*['`].*\bshould\b/.test(text))
  expect(wishes.map(offence)).toEqual([])
})

test('the docs do not praise', () => {
  const praise =
    /\b(blazing(ly)?|robust|seamless(ly)?|powerful|cutting-edge|world-class|best-in-class|state-of-the-art|enterprise-grade|production-ready|battle-tested|effortless(ly)?|elegant(ly)?|comprehensive|leverag(e|es|ing)|delightful|game-changing|lightning[- ]fast)\b/i
  expect(
    lines(prose)
      .filter(({ text }) => praise.test(text))
      .map(offence),
  ).toEqual([])
})

test('there is one sleep, but for the sandbox, whose slow answers keep no process alive', () => {
  const other = lines(/^src\/(?!base\/sleep\.ts|service\/sandbox\/faults\/).*\.ts$/).filter(({ text }) =>
    /\bsetTimeout\b.*'node:timers\/promises'/.test(text),
  )
  expect(other.map(offence)).toEqual([])
})

test('no two migrations of a folder have the same number', () => {
  const numbers = files.filter((file) => file.endsWith('.sql')).map((file) => file.replace(/-[^/]*$/, ''))
  expect(numbers.filter((number, index) => numbers.indexOf(number) !== index)).toEqual([])
})

test('no stream is named outside the catalogue, config/streams.ts', () => {
  const names = /(^|[^.\w])'(data-logs|tags|demographics|device-information)'(?!\s*:)/
  const named = lines(/^(src|jobs)\/(?!service\/).*\.ts$/).filter(({ text }) => names.test(text))
  expect(named.map(offence)).toEqual([])
})

test('each file that begins first is there', () => {
  expect(slowFiles.filter((file) => !files.includes(file))).toEqual([])
})

test('nothing is left for later in the sources', () => {
  const left = lines(/\.(ts|mjs|sql|sh|md|yml|json)$/).filter(
    ({ file, text }) =>
      file !== 'test/house/tidy.test.ts' &&
      /\b(TODO|FIXME|XXX|HACK)\b|console\.log\('(here|debug)|\bdebugger\b|\.only\(/.test(text),
  )
  expect(left.map(offence)).toEqual([])
})
