import { expect, test } from 'vitest'
import { shellPath } from '../../../src/base/text/readable.ts'

test('a path is one word of a shell, and stays as it is where it may', () => {
  expect(['/home/you/.vitalsync/pgpass', '/home/Jürgen/my data/pgpass', "/it's/pgpass"].map(shellPath)).toEqual([
    '/home/you/.vitalsync/pgpass',
    "'/home/Jürgen/my data/pgpass'",
    "'/it'\\''s/pgpass'",
  ])
})
