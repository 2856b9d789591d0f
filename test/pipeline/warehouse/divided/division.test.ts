import pg from 'pg'
import { expect, test } from 'vitest'
import { isOutage } from '../../../../src/base/postgres/postgres-errors.ts'
import { createDivision, toCallersError } from '../../../../src/pipeline/warehouse/divided/division.ts'
import { isDataException, PartialOutage } from '../../../../src/pipeline/warehouse/postgres/sql-errors.ts'

function answered(code: string, message: string, where?: string): pg.DatabaseError {
  const error = new pg.DatabaseError(message, message.length, 'error')
  error.code = code
  error.where = where
  return error
}

const ofOneNode = [
  answered('08006', 'connection to the remote node postgres@a:1 failed with the following error: Connection refused'),
  answered('XX000', 'failure on connection marked as essential: a:1'),
  answered('XX000', 'could not commit transaction for shard 102105 on at least one active node'),
  answered('57P01', 'terminating connection due to administrator command', 'while executing command on a:1'),
]
for (const error of ofOneNode)
  test(`an outage of a part of the people: ${error.message}`, () => {
    const seen = toCallersError(error)
    expect(seen).toBeInstanceOf(PartialOutage)
    expect(seen).toMatchObject({ cause: error, hint: expect.stringContaining('doctor') })
    expect(isOutage(seen)).toBe(true)
    expect(toCallersError(seen)).toBe(seen)
  })

test('an outage names the node where Citus names it, and no user', () => {
  expect(ofOneNode.map((error) => (toCallersError(error) as Error).message)).toEqual([
    ...['node a:1', 'node a:1', 'a node', 'node a:1'].map(
      (node) => `reach ${node} of the warehouse: it does not answer`,
    ),
  ])
})

const tooLong = [
  answered('57014', 'canceling statement due to statement timeout'),
  answered('55P03', 'canceling statement due to lock timeout'),
  answered('XX000', 'canceling statement due to lock timeout'),
]
for (const error of tooLong)
  test(`a statement that takes too long holds up its own people alone (${error.code}, ${error.message})`, () => {
    expect(toCallersError(error)).toBeInstanceOf(PartialOutage)
  })

test.for<[string, string]>([
  ['duplicate key value violates unique constraint "scores_pkey_102017"', '23505'],
  ['new row for relation "scores_102017" violates check constraint "good"', '23000'],
  ['index row size 2800 exceeds btree version 4 maximum 2704 for index "scores_pkey_102017"', '54000'],
])('data that a node refuses in a COPY is refused data: %s', ([message, code]) => {
  const seen = toCallersError(answered('XX000', message))
  expect(seen).toMatchObject({ code, message })
  expect(isDataException(seen)).toBe(true)
})

test.for<[string, string]>([
  ['could not serialize access due to concurrent update', '40001'],
  ['deadlock detected', '40P01'],
  ['could not extend file "base/16384/16402": No space left on device', '53100'],
])('an outage of a node in a COPY is an outage: %s', ([message, code]) => {
  const seen = toCallersError(answered('XX000', message))
  expect(seen).toMatchObject({ code, message })
  expect(isOutage(seen)).toBe(true)
})

test('one database shows each error as it is', () => {
  for (const error of ofOneNode) expect(createDivision(1).toCallersError(error)).toBe(error)
  expect(createDivision(2).toCallersError(ofOneNode[0])).toBeInstanceOf(PartialOutage)
})

const ofTheWhole = [
  answered('08006', 'server closed the connection unexpectedly'),
  answered('57P01', 'terminating connection due to administrator command'),
  answered('40P01', 'canceling the transaction since it was involved in a distributed deadlock'),
  answered('XX000', 'triggers are not supported on distributed tables'),
  answered('23505', 'duplicate key value', 'while executing command on a:1'),
  Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }),
]
for (const error of [...ofTheWhole, 'no error'])
  test(`an error as it is: ${error}`, () => {
    expect(toCallersError(error)).toBe(error)
  })
