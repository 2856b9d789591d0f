import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { drawTerminal } from './terminal-picture.ts'

const clear = '\r\u001b[2K'

/** The texts of a picture by their class: `a` stays, `b` is replaced. */
const textsOf = (picture: string) =>
  [...picture.matchAll(/<text class="(\w)" x="\d+" y="(\d+)"[^>]*>(.*?)<\/text>/g)].map(([, kind, y, text]) => ({
    kind,
    y: Number(y),
    text,
  }))

test('a line that is overwritten shows each of its states once, and keeps the last', () => {
  const pieces = [
    { atMs: 0, text: '$ npm start\n' },
    { atMs: 500, text: 'waits' },
    { atMs: 1000, text: `${clear}waits` },
    { atMs: 1500, text: `${clear}\u001b[32m✓\u001b[39m a <b>\n` },
    { atMs: 60_000, text: 'end\n' },
  ]
  const texts = textsOf(drawTerminal(pieces, { columns: 80 }))

  expect(texts.map(({ kind, text }) => [kind, text])).toEqual([
    ['a', '$ npm start'],
    ['b', 'waits'],
    ['a', '<tspan class="good">✓</tspan> a &lt;b>'],
    ['a', 'end'],
  ])
  expect(texts[1]?.y).toBe(texts[2]?.y)
})

test('a line that is wider than the terminal goes on in the next row', () => {
  const texts = textsOf(drawTerminal([{ atMs: 0, text: 'abcdef\ng\n' }], { columns: 4 }))

  expect(texts.map(({ text }) => text)).toEqual(['abcd', 'ef', 'g'])
  expect(new Set(texts.map(({ y }) => y)).size).toBe(3)
})

test('the picture of the first start is small, for light and dark, at rest on request, and of nobody’s machine', () => {
  const picture = readFileSync(new URL('../../../docs/pictures/start.svg', import.meta.url), 'utf8')

  expect(picture.length).toBeLessThan(60_000)
  expect(picture).toContain('prefers-color-scheme:dark')
  expect(picture).toContain('prefers-reduced-motion:reduce')
  expect(picture).toContain('Working by schedule')
  expect(picture).not.toMatch(/\/tmp\/|\/dev\/shm|\/root/)
})
