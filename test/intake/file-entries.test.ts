import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { type FileEntry, type FileFormat, readEntries } from '../../src/intake/file-entries.ts'
import { splitLines } from '../../src/intake/formats/split-lines.ts'

async function* inPieces(text: string | Buffer, size: number) {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function read(text: string | Buffer, format: FileFormat, size = 7): Promise<FileEntry[]> {
  const entries: FileEntry[] = []
  const begin = { position: 0, line: 0 }
  for await (const entry of readEntries({ bytes: inPieces(text, size), format, begin })) entries.push(entry)
  return entries
}

const shown = (entries: readonly FileEntry[]) =>
  entries.map((entry) => [entry.line, 'fields' in entry ? entry.fields : entry.fault])

test('NDJSON is cut at newlines wherever the pieces end, with every kind of end', async () => {
  const text = '\ufeff{"externalId":"ä"}\r\n\n{"externalId":"b"}\n"c"\n{"externalId":"d"}'

  for (const size of [1, 2, 3, 1000]) {
    expect(shown(await read(text, 'ndjson', size))).toEqual([
      [1, { externalId: 'ä' }],
      [3, { externalId: 'b' }],
      [4, { externalId: 'c' }],
      [5, { externalId: 'd' }],
    ])
  }
})

test('a line that is no object costs only itself, and is kept whole', async () => {
  const entries = await read('nonsense\n[1]\n{"externalId":"a"}\n', 'ndjson')

  expect(shown(entries)).toEqual([
    [1, 'the line is not JSON'],
    [2, 'the line is no JSON object'],
    [3, { externalId: 'a' }],
  ])
  expect(entries[0]).toMatchObject({ text: 'nonsense' })
})

test('a line beyond bounds is not kept in memory, and the next one is read', async () => {
  const entries = await read(`${'x'.repeat(2 * 1024 * 1024)}\n{"externalId":"a"}\n`, 'ndjson', 65_536)

  expect(shown(entries)).toEqual([
    [1, 'the line is longer than 1 MiB'],
    [2, { externalId: 'a' }],
  ])
})

test('a line without end is dropped while it comes', async () => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const held = () => {
    collect()
    return process.memoryUsage().arrayBuffers
  }
  const before = held()
  let most = 0
  async function* endless() {
    for (let piece = 0; piece < 40; piece++) {
      yield Buffer.alloc(1024 * 1024, 'x')
      most = Math.max(most, held() - before)
    }
  }
  for await (const line of splitLines(endless(), { position: 0, line: 0 })) expect(line.text).toBeUndefined()

  expect(most).toBeLessThan(8 * 1024 * 1024)
})

test('reading on from the byte after any entry finds exactly the others', async () => {
  for (const format of ['ndjson', 'csv'] as const) {
    const text =
      format === 'csv'
        ? 'externalId,name\na,"x\ny"\r\nb,é\n\nc,""""\n'
        : '{"externalId":"a"}\n\n{"externalId":"é"}\r\n{"externalId":"c"}\n'
    const bytes = Buffer.from(text)
    const all = await read(text, format)
    for (const [index, entry] of all.entries()) {
      const rest: FileEntry[] = []
      const source = {
        bytes: inPieces(bytes.subarray(entry.end).toString(), 3),
        format,
        begin: { position: entry.end, line: entry.line },
        columns: ['externalId', 'name'],
      }
      for await (const entry of readEntries(source)) rest.push(entry)

      expect(rest.map(({ end }) => end)).toEqual(all.slice(index + 1).map(({ end }) => end))
      expect(rest.map((entry) => 'fields' in entry && entry.fields)).toEqual(
        all.slice(index + 1).map((entry) => 'fields' in entry && entry.fields),
      )
    }
  }
})

test('CSV fields may hold commas, quotes and line ends; empty cells are absent', async () => {
  const text = 'externalId,name,value\r\na,"two, ""big""",1\r\nb,"over\r\nlines",\r\nc,,3\r\n'

  expect(shown(await read(text, 'csv'))).toEqual([
    [2, { externalId: 'a', name: 'two, "big"', value: '1' }],
    [3, { externalId: 'b', name: 'over\nlines' }],
    [5, { externalId: 'c', value: '3' }],
  ])
})

test('a quote that nothing closes costs its own line, in the middle and at the end of a file', async () => {
  const good = Array.from({ length: 120 }, (_, index) => `p${index},x`).join('\n')
  const entries = await read(`externalId,name\nbad,"never\n${good}\nlast,"open\nafter,y\n`, 'csv', 64)

  const faults = entries.filter((entry) => 'fault' in entry).map(({ line }) => line)
  expect(faults).toEqual([2, 123])
  expect(entries.filter((entry) => 'fields' in entry)).toHaveLength(121)
})

test('a quote within a cell opens none: each such line is a fault of its own', async () => {
  expect(shown(await read('externalId,height\na,5\'10"\nb,6\'1"\nc,180\n', 'csv'))).toEqual([
    [2, expect.stringContaining('a quote')],
    [3, expect.stringContaining('a quote')],
    [4, { externalId: 'c', height: '180' }],
  ])
})

test('a line with too few or too many cells is said to be one', async () => {
  expect(shown(await read('externalId,name\na\nb,1,2\n', 'csv'))).toEqual([
    [2, 'the line has 1 cells, and there are 2 columns'],
    [3, 'the line has 3 cells, and there are 2 columns'],
  ])
})

test('a line in another encoding is a fault: its names are not made one', async () => {
  const latin = (text: string) => Buffer.from(text, 'latin1')
  const misread = expect.stringContaining('the line is not UTF-8')

  expect(shown(await read(latin('externalId,value\nzoé,1\nzoë,2\nada,3\n'), 'csv'))).toEqual([
    [2, misread],
    [3, misread],
    [4, { externalId: 'ada', value: '3' }],
  ])
  expect(shown(await read(latin('"zoé"\n"ada"\n'), 'ndjson'))).toEqual([
    [1, misread],
    [2, { externalId: 'ada' }],
  ])
})

test('a CSV whose lines end with a carriage return alone is refused, and not read as one of no line', async () => {
  await expect(read('externalId,cohort\rada,a\rbob,b\r', 'csv')).rejects.toThrow('a carriage return alone')
})

test('a CSV without externalId, or with a column twice, is refused as a whole', async () => {
  await expect(read('id,name\na,b\n', 'csv')).rejects.toThrow('no column externalId')
  await expect(read('externalId,name,name\na,b,c\n', 'csv')).rejects.toThrow('two columns are named name')
})
