import { expect, test } from 'vitest'
import { readTableRows } from '../../../src/intake/formats/small-files.ts'
import { fileOf } from '../../support/health-files.ts'

async function rowsOf(text: string, chunkBytes?: number) {
  const rows: unknown[] = []
  const head = { name: 'a.csv', text, bytes: Buffer.from(text) }
  for await (const batch of readTableRows(fileOf('a.csv', text, chunkBytes), head)) rows.push(...batch.rows)
  return rows
}

test('a cell in quotes may go on in the next lines', async () => {
  const text = 'at,note,value\r\n1,"slept ""well""\r\n\r\n, and long",7\r\n2,"",8\r\n3,plain,9\r\n'
  for (const chunkBytes of [1, 7, 65_536])
    expect(await rowsOf(text, chunkBytes)).toEqual([
      { at: '1', note: 'slept "well"\n\n, and long', value: '7' },
      { at: '2', note: '', value: '8' },
      { at: '3', note: 'plain', value: '9' },
    ])
})

test('a quote within a cell begins none', async () => {
  expect(await rowsOf('at;note;value\n1;5\'10";7\n2;a "b" c;8\n')).toEqual([
    { at: '1', note: '5\'10"', value: '7' },
    { at: '2', note: 'a "b" c', value: '8' },
  ])
})

test('a quote that nothing closes costs its own row, and none after it', async () => {
  const later = Array.from({ length: 200 }, (_, index) => `${index},x,${index}`)
  for (const others of [later, later.slice(0, 3), []]) {
    const rows = await rowsOf(['at,note,value', 'a,"lost,1', ...others].join('\n'))
    expect(rows).toHaveLength(others.length + 1)
    expect(rows.slice(1)).toEqual(others.map((_, index) => ({ at: `${index}`, note: 'x', value: `${index}` })))
  }
})
