import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { jsonResultSchemas } from '../../../src/app/results/json-results.ts'
import { parserMessageOf, wordsIn } from './parsing.ts'
import { commandsOf, examplesOf, reference, tree } from './reference.ts'

const page = fileURLToPath(new URL('../../../docs/reference/cli.md', import.meta.url))

test('docs/reference/cli.md lists the commands as they are (npx vitest -u writes it again)', async () => {
  await expect(reference()).toMatchFileSnapshot(page)
})

test('every command has an example that names it', () => {
  for (const { name, command } of commandsOf(tree())) {
    const lines = examplesOf(command)

    expect(lines.length, name).toBeGreaterThan(0)
    expect(
      lines.some((line) => line.includes(`vitalsync ${name}`)),
      `${name}: ${lines}`,
    ).toBe(true)
  }
})

test('every example is a line that the shell and the program accept unchanged', async () => {
  for (const { name, command } of commandsOf(tree())) {
    for (const line of examplesOf(command)) {
      const shell = spawnSync('bash', ['-n', '-c', line], { encoding: 'utf8' })
      const words = wordsIn(line)

      expect([line, shell.stderr, shell.status]).toEqual([line, '', 0])
      expect(words, `${name}: ${line}`).toBeDefined()
      expect([line, await parserMessageOf(words ?? [])]).toEqual([line, ''])
    }
  }
})

test('every command that takes --json has a schema, and no schema is without its command', () => {
  const taking = commandsOf(tree())
    .filter(({ command }) => command.options.some(({ long }) => long === '--json'))
    .map(({ name }) => name)

  expect(taking.sort()).toEqual(Object.keys(jsonResultSchemas).sort())
})
