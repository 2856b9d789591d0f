import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { HOUR } from '../../src/base/time/units.ts'
import { type FileEntry, type FileFormat, readEntries } from '../../src/intake/file-entries.ts'
import { createXmlElements } from '../../src/intake/formats/apple-health/xml-elements.ts'
import type { ExportFile } from '../../src/intake/formats/export-format.ts'
import { exportFormats } from '../../src/intake/formats/known-formats.ts'
import { splitLines } from '../../src/intake/formats/split-lines.ts'
import { asUtf8 } from '../../src/intake/utf8-text.ts'
import { exportWriters } from '../../src/service/sandbox/exports/export-writers.ts'
import { logsOf, samplePeople } from '../../src/service/sandbox/people/sample-people.ts'
import { entriesOf, importOne } from '../support/health-files.ts'
import { createSeries, mutated } from '../support/mutated-files.ts'

/** A file comes in pieces that end anywhere, within a character too. Each parser gives the same for any pieces. */
const seed = 20261124

/** Places at which a stream of bytes is cut, as shares of its length. The same place twice makes an empty piece. */
const anyCuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 })

function cutBytes(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = cuts.map((share) => Math.round(share * bytes.length)).sort((a, b) => a - b)
  return [0, ...places].map((from, index) => bytes.subarray(from, places[index] ?? bytes.length))
}

async function* streamOf(pieces: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* pieces
}

function fileInPieces(name: string, bytes: Buffer, pieces: readonly Buffer[]): ExportFile {
  return { name, sizeBytes: bytes.length, open: async () => streamOf(pieces) }
}

/** A text of any characters, with those that lie at the borders of what parsers do: ends of lines, quotes, several bytes. */
const anyText = fc
  .array(
    fc.oneof(
      fc.constantFrom('\n', '\r\n', '\r', '"', '""', ',', ';', '\t', ' ', '&amp;', '&', '<', '>', '\\', '\u0000'),
      fc.constantFrom('ä', '€', '😀', 'e\u0301', '\ufeff', '\u2028', '\u0085'),
      fc.string({ unit: 'grapheme', maxLength: 6 }),
    ),
    { maxLength: 20 },
  )
  .map((parts) => parts.join(''))

const oneByOne = (bytes: Buffer) => Array.from(bytes, (_, at) => bytes.subarray(at, at + 1))
/** Texts, and bytes that are no text. */
const anyBytes = fc.oneof(
  { weight: 3, arbitrary: anyText.map((text) => Buffer.from(text)) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)) },
)

async function collected<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

test('lines are those between line feeds, each with the place where it ends, and reading on from there finds the rest', async () => {
  const begin = { position: 0, line: 0 }
  await fc.assert(
    fc.asyncProperty(anyBytes, anyCuts, async (bytes, cuts) => {
      const parts = bytes.toString('latin1').split('\n')
      if (parts.at(-1) === '') parts.pop()
      let end = 0
      const expected = parts.map((part, index) => {
        end = Math.min(bytes.length, end + part.length + 1)
        const text = Buffer.from(part, 'latin1').toString('utf8').replace(/\r$/, '')
        return { line: index + 1, end, text: index === 0 ? text.replace(/^\ufeff/, '') : text }
      })
      for (const pieces of [[bytes], cutBytes(bytes, cuts), oneByOne(bytes)])
        expect(await collected(splitLines(streamOf(pieces), begin))).toEqual(expected)
      for (const [index, { line, end: position }] of expected.entries())
        expect(await collected(splitLines(streamOf([bytes.subarray(position)]), { position, line }))).toEqual(
          expected.slice(index + 1),
        )
    }),
    { seed, numRuns: 300 },
  )
})

test.for(['utf-16le', 'utf-16be'])('a text in %s is read as UTF-8', async (encoding) => {
  await fc.assert(
    fc.asyncProperty(anyText, anyCuts, async (text, cuts) => {
      const little = Buffer.from(`\ufeff${text}`, 'utf16le')
      const bytes = encoding === 'utf-16le' ? little : little.swap16()
      for (const pieces of [[bytes], cutBytes(bytes, cuts), oneByOne(bytes)]) {
        const file = asUtf8(fileInPieces('a.csv', bytes, pieces))
        expect(Buffer.concat(await collected(await file.open())).toString()).toBe(text)
      }
    }),
    { seed, numRuns: 200 },
  )
})

test('bytes that are no UTF-16 stay as they are', async () => {
  await fc.assert(
    fc.asyncProperty(anyBytes, anyCuts, async (bytes, cuts) => {
      fc.pre(!['fffe', 'feff'].includes(bytes.toString('hex', 0, 2)))
      const file = asUtf8(fileInPieces('a.csv', bytes, cutBytes(bytes, cuts)))
      expect(Buffer.concat(await collected(await file.open()))).toEqual(bytes)
    }),
    { seed, numRuns: 200 },
  )
})

test.for(['csv', 'ndjson'] as const)('an entry of %s is the same wherever the pieces end', async (format) => {
  const read = (pieces: readonly Buffer[]): Promise<FileEntry[]> =>
    collected(readEntries({ ...sourceOf(format), bytes: streamOf(pieces) }))
  await fc.assert(
    fc.asyncProperty(anyBytes, anyCuts, async (bytes, cuts) => {
      const whole = await read([bytes])
      expect(await read(cutBytes(bytes, cuts))).toEqual(whole)
      expect(await read(oneByOne(bytes))).toEqual(whole)
    }),
    { seed, numRuns: 200 },
  )
})

const sourceOf = (format: FileFormat) => ({
  format,
  begin: { position: 0, line: 0 },
  columns: ['externalId', 'name', 'value'],
})

test('a table of any cells that is quoted as RFC 4180 says has these cells again', async () => {
  const cell = anyText.map((text) => text.replaceAll('\r', ''))
  const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(cell, cell, cell), { maxLength: 5 }), anyCuts, async (rows, cuts) => {
      const bytes = Buffer.from(
        `externalId,name,value\r\n${rows.map((row) => `${row.map(quoted).join(',')}\r\n`).join('')}`,
      )
      const source = { ...sourceOf('csv'), columns: undefined, bytes: streamOf(cutBytes(bytes, cuts)) }
      const expected = rows.map(([externalId, name, value]) =>
        Object.fromEntries(Object.entries({ externalId, name, value }).filter(([, text]) => text !== '')),
      )
      const entries = await collected(readEntries(source))
      expect(entries.map((entry) => ('fields' in entry ? entry.fields : entry))).toEqual(expected)
    }),
    { seed, numRuns: 300 },
  )
})

test('XML gives the same elements and values wherever the pieces end', async () => {
  const escaped = (text: string) => text.replace(/[&<>"'\n\r\t]/g, (character) => `&#${character.codePointAt(0)};`)
  // XML has no such characters, and no program writes them.
  const value = anyText.map((text) =>
    [...text].filter((character) => character >= ' ' || '\n\r\t'.includes(character)).join(''),
  )
  fc.assert(
    fc.property(fc.array(fc.tuple(value, value), { maxLength: 6 }), anyCuts, (records, cuts) => {
      const rows = records.map(
        ([name, text]) => `<Record name="${escaped(name)}"><Text>${escaped(text)}</Text></Record>`,
      )
      const bytes = Buffer.from(`<?xml version="1.0"?>\n<Data>${rows.join('\n')}</Data>\n`)
      const expected = [
        '<Data',
        ...records.flatMap(([name]) => [`<Record ${name}`, '<Text', '>Text', '>Record']),
        '>Data',
      ]
      for (const pieces of [[bytes], cutBytes(bytes, cuts), oneByOne(bytes)])
        expect(elementsOf(pieces)).toEqual(expected)
    }),
    { seed, numRuns: 200 },
  )
})

function elementsOf(pieces: readonly Buffer[]): string[] {
  const seen: string[] = []
  const parser = createXmlElements('a.xml', {
    open: (name, { name: value }) => seen.push(value === undefined ? `<${name}` : `<${name} ${value}`),
    close: (name) => seen.push(`>${name}`),
  })
  for (const piece of pieces) parser.write(piece)
  parser.end()
  return seen
}

const endMs = Date.parse('2026-03-02T12:00:00Z')
const [person] = samplePeople('chunks', 1)
const logs = person ? logsOf(person, { startMs: endMs - 2 * HOUR, endMs }) : []
const ROUNDS = Number(process.env['FUZZ_ROUNDS'] ?? 4)

describe('a file of an export', () => {
  test.each(Object.keys(exportWriters))('of %s, whole or damaged, is read alike in any pieces', async (format) => {
    const written = (await exportWriters[format]?.(logs, 60))?.data ?? Buffer.alloc(4)
    const next = createSeries(23)
    for (const { name, data } of entriesOf(written))
      for (let round = 0; round < ROUNDS; round += 1) {
        const bytes = round === 0 ? data : mutated(data, next)
        const cuts = Array.from({ length: 1 + next(30) }, () => next(1000) / 1000)
        const whole = await readIn(name, bytes, [bytes])
        expect(await readIn(name, bytes, cutBytes(bytes, cuts)), `${name}, round ${round}`).toEqual(whole)
        if (round === 0 && bytes.length < 20_000) expect(await readIn(name, bytes, oneByOne(bytes))).toEqual(whole)
      }
  })
})

const readIn = (name: string, bytes: Buffer, pieces: readonly Buffer[]) =>
  importOne(fileInPieces(name, bytes, pieces), { timeZone: 'Europe/London', formats: exportFormats })
