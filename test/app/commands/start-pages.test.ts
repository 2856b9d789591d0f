import { readFile } from 'node:fs/promises'
import { expect, onTestFinished, test } from 'vitest'
import { blocksOf, openDesk, patternOf, root } from '../../support/walk-page.ts'
import { makeOwnedDatabase } from './command-world.ts'

/** Each page of docs/start is walked as it is written: its commands in their order, their output compared with what it shows. */
const timeout = 600_000
const wordsMax = 600
/** Upstream's days are read again half a minute after a push; the walk is not about the waiting. */
const env = { REREAD_SECONDS: '1' }

for (const name of ['back-end', 'study', 'operator']) {
  test(`docs/start/${name}.md`, { timeout }, async () => {
    const page = await readFile(`${root}/docs/start/${name}.md`, 'utf8')
    const database = name === 'operator' ? await makeOwnedDatabase() : undefined
    const desk = await openDesk(database ? { ...env, DATABASE_URL: database.url } : env)
    onTestFinished(async () => {
      await desk.close()
      await database?.drop()
    }, timeout)

    expect(page.trim().split(/\s+/).length).toBeLessThanOrEqual(wordsMax)
    expect(blocksOf(page).filter(({ language }) => language === 'sh').length).toBeGreaterThan(4)
    await desk.walk(page)
  })
}

test.each([
  ['a\nb …, c\n', 'a\nb 12, c\n', true],
  ['a\nb …, c\n', 'a\nb 12\nc\n', false],
  ['a\n…\nc\n', 'a\n1\n2\nc\n', true],
  ['a\n…\nc\n', 'a\n1\n2\n', false],
  ['a  …  b\n', 'a 1,200    b \n', true],
  ['a.b\n', 'axb\n', false],
])('what the page shows, %j, and the output %j: %s', (shown, output, fits) => {
  expect(new RegExp(`^${patternOf(shown)}$`).test(output)).toBe(fits)
})

test.each([
  ['a command that fails before the last one', '```sh\nfalse\ntrue\n```\n'],
  ['an output that differs', '```sh\necho one\n```\n\n```text\ntwo\n```\n'],
  ['a line that the page does not show', '```sh\necho one; echo two\n```\n\n```text\none\n```\n'],
  [
    'a program that ends in its terminal before it prints what the page shows',
    '```sh other\necho one\n```\n\n```text\ntwo\n```\n',
  ],
])('a walk fails at %s', async (_, page) => {
  const desk = await openDesk()
  onTestFinished(() => desk.close())

  await expect(desk.walk(page)).rejects.toThrow()
})
