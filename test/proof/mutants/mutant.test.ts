import { expect, test } from 'vitest'
import { mutantsOf } from './mutant.ts'

const location = { start: { line: 2, column: 8 }, end: { line: 2, column: 9 } }

test.for([
  { status: 'Killed', statusReason: 'expected 2 to be 1', state: 'killed' },
  { status: 'Killed', statusReason: 'Test timed out in 3000ms.', state: 'timed out' },
  { status: 'Timeout', state: 'timed out' },
  { status: 'Survived', state: 'survived' },
  { status: 'NoCoverage', state: 'unreached' },
])('a mutant that the report calls $status ($statusReason) is $state', ({ state, ...reported }) => {
  const mutants = [{ replacement: '2', location, ...reported }]

  expect(mutantsOf({ files: { 'one.ts': { source: 'export const one =\n  give(1)\n', mutants } } })).toMatchObject([
    { file: 'one.ts', line: 2, from: 'give(1)', to: 'give(2)', state },
  ])
})
