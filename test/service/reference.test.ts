import { readdir, readFile } from 'node:fs/promises'
import { expect } from 'vitest'
import { operations } from '../../src/base/contract/operations.ts'
import { call, test } from './service-world.ts'

const folder = new URL('../../', import.meta.url)
const page = await readFile(new URL('docs/reference/service.md', folder), 'utf8')

type Row = { method: string; path: string; caller: string; test: string }

const rows: Row[] = page
  .split('\n')
  .map((line) => line.match(/^\| (GET|POST|PUT|PATCH|DELETE) \| `([^`]+)` \| ([^|]+) \| `([^`]+)` \|$/))
  .filter((match) => match !== null)
  .map(([, method = '', path = '', caller = '', file = '']) => ({ method, path, caller: caller.trim(), test: file }))

const name = ({ method, path }: { method: string; path: string }) => `${method} ${path}`

test('the reference lists the 28 operations and nothing else', async ({}) => {
  const listed = rows.map((row) => `${name(row)} ${row.caller}`)

  expect(listed).toEqual(Object.values(operations).map((operation) => `${name(operation)} ${operation.caller}`))
  expect(listed).toHaveLength(28)
})

test('the service serves exactly those', async ({ world }) => {
  const served = Object.entries(world.document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId }]) => [
      operationId,
      name({ method: method.toUpperCase(), path }),
    ]),
  )

  expect(Object.fromEntries(served)).toEqual(
    Object.fromEntries(Object.entries(operations).map(([id, operation]) => [id, name(operation)])),
  )
})

test('each operation is there when asked: never 404 for its route, never 405', async ({ world }) => {
  for (const { method, path } of Object.values(operations)) {
    const answer = await call(world, path.replace('{externalId}', 'nobody'), { method })
    expect([400, 401, 415], name({ method, path })).toContain(answer.status)
  }
})

test('the test that a row names is there and speaks of the operation', async ({}) => {
  const files = await readdir(new URL('test/service/', folder))
  for (const row of rows) {
    const file = row.test.replace('test/service/', '')
    expect(files).toContain(file)
    const source = await readFile(new URL(row.test, folder), 'utf8')
    const part = row.path.replace('/api/v1/', '').replace('/{externalId}', '').split('/').slice(1).join('/')
    expect(source, `${row.test} tests ${row.path}`).toContain(part)
  }
})

test('tests of the service over its socket import nothing from its inside, so that they can test any other service', async ({}) => {
  const here = new URL('test/service/', folder)
  for (const file of await readdir(here)) {
    const source = file.endsWith('.test.ts') ? await readFile(new URL(file, here), 'utf8') : ''
    if (!source.includes("from './service-world.ts'")) continue
    const inside = [...source.matchAll(/from '\.\.\/\.\.\/src\/service\/(.+)'/g)].map(([, name]) => name)
    // Only to start another one beside it.
    expect([[], ['server.ts'], ['start-sandbox.ts']], file).toContainEqual(inside)
  }
})
