import { expect, test } from 'vitest'
import { EngineUnreachable } from '../../../src/base/errors.ts'
import { isOutage } from '../../../src/base/postgres/postgres-errors.ts'

const withCode = (code: string, more: object = {}) => Object.assign(new Error('failed'), { code, ...more })

test.each([
  ['no connection was made', withCode('ECONNREFUSED')],
  ['the socket of the server is gone', withCode('ENOENT', { syscall: 'connect' })],
  ['the connection ended during a query', new Error('Connection terminated unexpectedly')],
  ['the connection had ended', new Error('Client has encountered a connection error and is not queryable')],
  ['the connection was closed', new Error('Client was closed and is not queryable')],
  ['the pool was closed meanwhile', new Error('Cannot use a pool after calling end on the pool')],
  ['no connection was free in time', new Error('timeout exceeded when trying to connect')],
  ['the server shuts down', withCode('57P01')],
  ['the disk of the server is full', withCode('53100')],
  ['a lock was not free in time', withCode('55P03')],
  ['a deadlock', withCode('40P01')],
  ['the database takes no connections', withCode('55000', { severity: 'FATAL' })],
  ['reported already', new EngineUnreachable('reach Postgres: it does not answer')],
])('an outage: %s', (_, error) => {
  expect(isOutage(error)).toBe(true)
})

test.each([
  ['a file that is not there', withCode('ENOENT', { syscall: 'open' })],
  ['data that does not fit', withCode('22003')],
  ['a sequence without a value', withCode('55000', { severity: 'ERROR' })],
  ['a table that is not there', withCode('42P01')],
  ['a fault of ours', new TypeError('undefined is not a function')],
  ['no error', undefined],
])('no outage: %s', (_, error) => {
  expect(isOutage(error)).toBe(false)
})
