import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createCsv } from '../../../src/pipeline/export/csv.ts'
import { createNdjson } from '../../../src/pipeline/export/formats.ts'
import { everyCharacter } from '../../support/every-character.ts'

const seed = 20261124

/** Read by a parser that the program does not write with, and that takes any end of a line. An empty cell is null, an empty text is in quotes. */
const readCsv = (text: string): Array<Array<string | null>> =>
  parse(text, {
    columns: false,
    relax_column_count: false,
    record_delimiter: ['\r\n', '\n', '\r'],
    cast: (value, { quoting }) => (value === '' && !quoting ? null : value),
  })

const rowsOf = (cells: readonly string[], columns: number) =>
  Array.from({ length: Math.ceil(cells.length / columns) }, (_, row) => {
    const part = cells.slice(row * columns, (row + 1) * columns)
    return [...part, ...Array<string>(columns - part.length).fill('end')]
  })

test('every character is in CSV as it was, alone and between others', () => {
  const rows = rowsOf([...everyCharacter(), '\u0000', 'a\u0000b', '\ufeff'], 64)

  expect(readCsv(String(createCsv('keep').rows(rows)))).toEqual(rows)
})

const cell = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '',
    '"',
    '""',
    ',',
    '\r',
    '\n',
    '\r\n',
    '=1+1',
    "'=1+1",
    '-1',
    '+1e3',
    '-x',
    '@a',
    '\t',
    '|',
    '%',
    ' =1',
    'x;=1',
    'x\t@',
    'a\n-b',
  ),
)

test('a row of any texts, numbers and empty cells is read as it was written', () => {
  const any = fc.oneof(cell, fc.constant(null), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean())
  fc.assert(
    fc.property(fc.array(fc.tuple(any, any, any), { minLength: 1, maxLength: 5 }), (rows) => {
      const expected = rows.map((row) => row.map((value) => (value === null ? null : String(value))))
      expect(readCsv(String(createCsv('keep').rows(rows)))).toEqual(expected)
    }),
    { seed, numRuns: 1000 },
  )
})

test('a spreadsheet finds no formula, and every other text is as it was', () => {
  fc.assert(
    fc.property(cell, cell, (a, b) => {
      const [row = []] = readCsv(String(createCsv('defuse').rows([[a, b]])))
      for (const [index, text] of [a, b].entries()) {
        const isNumber = text !== '' && text.trim() === text && Number.isFinite(Number(text))
        const read = row[index] ?? ''
        if (!isNumber) expect(read).not.toMatch(/(^|[;\t\r\n])[=+\-@|%]|^[\t\r\n]/)
        expect(isNumber ? read : read.replaceAll("'", '')).toBe(isNumber ? text : text.replaceAll("'", ''))
      }
    }),
    { seed, numRuns: 2000 },
  )
})

test('every character is in NDJSON as it was, and no row is more than one line', () => {
  const encoder = createNdjson()
  encoder.head('scores', [
    { name: 'na"me\n', kind: 'text', key: false },
    { name: 'raw', kind: 'json', key: false },
  ])
  const cells = [...everyCharacter(), '\u0000', '\ud800', 'a\udc00b']
  const lines = String(encoder.rows(cells.map((text) => [text, JSON.stringify({ text })]))).split('\n')

  expect(lines.pop()).toBe('')
  expect(lines.map((line) => JSON.parse(line))).toEqual(cells.map((text) => ({ 'na"me\n': text, raw: { text } })))
})
