import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const root = new URL('../../', import.meta.url)
const text = readFileSync(new URL('docs/why/security.md', root), 'utf8')
const rows = text
  .split('\n')
  .filter((line) => /^\| \d/.test(line))
  .map((line) => line.split('|').map((cell) => cell.trim()))

test('every group of the standard has a row, and what a row names as its test is there', () => {
  const chapters = new Set(
    rows.flatMap(([, group = '']) => [...group.matchAll(/(\d+)\.\d/g)].map(([, number]) => number)),
  )
  expect(chapters.size).toBe(17)
  const named = rows.flatMap(([, , , reason = '']) =>
    [...reason.matchAll(/`(test\/[^`]+)`/g)].map(([, file = '']) => file),
  )
  expect(named.length).toBeGreaterThan(15)
  expect(named.filter((file) => !existsSync(new URL(file, root)))).toEqual([])
})

test('a group that is held names a test; any other says why not', () => {
  for (const [, group, state, reason = ''] of rows) {
    if (state === 'held') expect(reason, group).toContain('`test/')
    else expect(['n/a', 'in part'], group).toContain(state)
    expect(reason.length, group).toBeGreaterThan(10)
  }
})
