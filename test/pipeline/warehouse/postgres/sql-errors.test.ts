import pg from 'pg'
import { expect, test } from 'vitest'
import { isNodeOutage, NodeUnreachable } from '../../../../src/pipeline/warehouse/postgres/sql-errors.ts'

function answered(code: string, message: string, where?: string): pg.DatabaseError {
  const error = new pg.DatabaseError(message, message.length, 'error')
  error.code = code
  error.where = where
  return error
}

const ofOneNode = [
  new NodeUnreachable('reach node a:1 of the warehouse: it does not answer'),
  answered('08006', 'connection to the remote node postgres@a:1 failed with the following error: Connection refused'),
  answered('XX000', 'failure on connection marked as essential: a:1'),
  answered('XX000', 'could not commit transaction for shard 102105 on at least one active node'),
  answered('57P01', 'terminating connection due to administrator command', 'while executing command on a:1'),
]
for (const error of ofOneNode)
  test(`an outage of one node: ${error.message}`, () => {
    expect(isNodeOutage(error)).toBe(true)
  })

const ofTheWhole = [
  answered('08006', 'server closed the connection unexpectedly'),
  answered('57P01', 'terminating connection due to administrator command'),
  answered('XX000', 'triggers are not supported on distributed tables'),
  answered('23505', 'duplicate key value', 'while executing command on a:1'),
  Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }),
]
for (const error of ofTheWhole)
  test(`no outage of one node: ${error.message}`, () => {
    expect(isNodeOutage(error)).toBe(false)
  })
