import { expect, test } from 'vitest'
import { isReadableOnTheWay } from '../../../src/base/text/readable.ts'

test.for([
  ['http://upstream.example/api', true],
  ['https://upstream.example/api', false],
  ['http://127.0.0.1:3000', false],
  ['redis://queue.example:6379', true],
  ['rediss://queue.example:6379', false],
  ['redis://a.example:6379,b.example:6379', true],
  ['redis://localhost:6379,localhost:6380', false],
  ['postgres://u:p@db.example/db', true],
  ['postgres://u:p@db.example/db?sslmode=prefer', true],
  ['postgresql://u:p@db.example/db?sslmode=verify-full', false],
  ['postgres:///db?host=/run/postgresql', false],
] as const)('%s can be read on the way: %s', ([address, readable]) => {
  expect(isReadableOnTheWay(address)).toBe(readable)
})
