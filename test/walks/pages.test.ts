import { readFile } from 'node:fs/promises'
import { expect, onTestFinished, test } from 'vitest'
import { makeOwnedDatabase } from '../app/commands/command-world.ts'
import { blocksOf, openDesk, patternOf, root } from '../support/walk-page.ts'

/**
 * Each page of docs/start, and the page about a new upstream, is walked as it is written: its commands in their order, their output
 * compared with what it shows. That of the operator needs a Docker engine: `npm run containers` walks it.
 */
const timeout = 600_000
/** Upstream's days are read again half a minute after a push; the walk is not about the waiting. */
const env = { REREAD_SECONDS: '1' }

const read = (name: string) => readFile(`${root}/docs/${name}.md`, 'utf8')

test.each(['back-end', 'study', 'silence', 'operator'])('docs/start/%s.md has at most 600 words', async (name) => {
  expect((await read(`start/${name}`)).trim().split(/\s+/).length).toBeLessThanOrEqual(600)
})

test.each(['back-end', 'study', 'silence'])('docs/start/%s.md is walked', { timeout }, async (name) => {
  const page = await read(`start/${name}`)
  const desk = await openDesk(env)
  onTestFinished(desk.close, timeout)

  expect(blocksOf(page).filter(({ language }) => language === 'sh').length).toBeGreaterThan(4)
  await desk.walk(page)
})

test('docs/how-to/connect-upstream.md is walked, on a database of one’s own', { timeout }, async () => {
  const database = await makeOwnedDatabase()
  const desk = await openDesk({ DATABASE_URL: database.url })
  onTestFinished(async () => {
    await desk.close()
    await database.drop()
  }, timeout)

  await desk.walk(await read('how-to/connect-upstream'))
})

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
