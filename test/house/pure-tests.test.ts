import { globSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { pureTests } from '../../config/pure-tests.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const pure = new Set(pureTests(root))

test.for(['pipeline/ledger', 'simulation', 'base/text', 'base/time', 'pipeline/transfer'])(
  'the tests of a pure room need no engine: %s',
  (room) => {
    const tests = globSync(`test/${room}/*.test.ts`, { cwd: root })

    expect(tests.length).toBeGreaterThan(0)
    expect(tests.filter((file) => !pure.has(file))).toEqual([])
  },
)

test('a test is not pure when a file that it imports, at any distance, opens a connection or starts a process', () => {
  const direct = 'test/pipeline/warehouse/postgres/sql-errors.test.ts' // imports pg
  const byFixtures = 'test/promises/03-coverage-not-a-cursor.test.ts' // fixtures import the driver
  const byProcess = 'test/app/cli/completion.test.ts' // starts the program

  expect([direct, byFixtures, byProcess].filter((file) => pure.has(file))).toEqual([])
})
