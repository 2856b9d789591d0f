import pg from 'pg'
import { afterAll, expect } from 'vitest'
import { brokenRules } from './statement-rules.ts'

/*
 * Runs in each test process: every statement that the product sends while the tests run is held against the rules of a warehouse
 * on several nodes. A statement of a test itself is not.
 */

const broken = new Set<string>()
const seen = new Set<string>()

type Statement = string | { readonly text?: string }

function check(statement: Statement | undefined): void {
  const text = typeof statement === 'string' ? statement : statement?.text
  if (typeof text !== 'string' || seen.has(text) || !text.includes('vitalsync.')) return
  const rules = brokenRules(text)
  if (rules.length === 0) return void seen.add(text)
  if (!isOfProduct()) return
  seen.add(text)
  for (const rule of rules) broken.add(`${rule}: ${text}`)
}

/** Whether the nearest caller outside of the driver, the pool and this file is a file of the product. */
function isOfProduct(): boolean {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 30
  const frames = (new Error().stack ?? '').split('\n').slice(1)
  Error.stackTraceLimit = limit
  const caller = frames.find(
    (frame) =>
      !/node_modules|node:|check-statements|postgres\/warehouse-pool/.test(frame) && /\/(src|test|jobs)\//.test(frame),
  )
  return (
    caller !== undefined &&
    /\/(src|jobs)\//.test(caller) &&
    !/\/src\/(service|pipeline\/queue|base\/engines)\//.test(caller)
  )
}

for (const { prototype } of [pg.Pool, pg.Client] as Array<{ prototype: { query: (...given: unknown[]) => unknown } }>) {
  const query = prototype.query
  prototype.query = function checked(this: unknown, ...given: unknown[]) {
    check(given[0] as Statement | undefined)
    return query.apply(this, given)
  }
  // This module is loaded again for each file of the process, and pg is not.
  afterAll(() => {
    prototype.query = query
  })
}

afterAll(() => {
  expect([...broken], 'statements that a warehouse on several nodes refuses').toEqual([])
  broken.clear()
})
