import { appendFileSync, readFileSync } from 'node:fs'
import pg from 'pg'
import type { Plan } from './plan.ts'

/*
 * Loaded into each test process, and its threads, before anything else (`--import`). Records the statements that the product sends, or
 * sends a mutant in place of one statement. The product knows nothing of it.
 */

/** A statement as the driver takes it: a text, a configuration, or an object that speaks the protocol, such as a cursor. */
type Statement = string | { text?: string; name?: string; submit?: unknown }

export type RecordedStatement = {
  /** Names of the suites and the test, joined; empty outside of tests. */
  readonly test: string
  readonly file: string
  readonly name: string | undefined
  readonly text: string
  /** The line of the product that sent it: `src/pipeline/warehouse/runs/stored-runs.ts:81:12`. */
  readonly origin: string
}

const { SQL_RECORD: recordFile, SQL_SENT: sentFile } = process.env
const seen = new Set<string>()

function record(statement: Statement | undefined): void {
  const text = textOf(statement)
  if (text === undefined || recordFile === undefined) return
  const { SQL_TEST: test = '', SQL_FILE: file = '' } = process.env
  const key = `${file}\n${test}\n${text}`
  if (seen.has(key)) return
  const origin = productFrame()
  if (origin === undefined) return
  seen.add(key)
  const name = typeof statement === 'object' ? statement.name : undefined
  const line: RecordedStatement = { test, file, name, text, origin }
  appendFileSync(recordFile, `${JSON.stringify(line)}\n`)
}

const textOf = (statement: Statement | undefined): string | undefined =>
  typeof statement === 'string' ? statement : statement?.text

/** The nearest caller that is a file of the product, unless a file of the tests is nearer. */
function productFrame(): string | undefined {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 40
  const frames = (new Error().stack ?? '').split('\n').slice(1)
  Error.stackTraceLimit = limit
  const nearest = frames.find(
    (frame) => !/node_modules|node:|exchange-statements|check-statements/.test(frame) && !layers.test(frame),
  )
  return nearest?.match(/\/((?:src|jobs)\/[^:?)]+(?:\?[^:)]*)?:\d+:\d+)/)?.[1]
}

/** Files that pass statements of others on. */
const layers = /\/src\/(?:.*\/)?(postgres\/(warehouse-pool|postgres-pool|transaction)|store\/service-pool)\.ts/

type Exchange = { readonly text: string; readonly name: string; readonly mutant: string }

/** The plays of this process, from the file of its plan: by their ids, what is sent in place of a text. */
const exchanges = new Map<string, Map<string, Exchange>>()
const sent = new Set<string>()

function exchangeOf(text: string): Exchange | undefined {
  const { SQL_MUTANT: id, SQL_PLAN: plan } = process.env
  if (id === undefined || plan === undefined) return undefined
  if (exchanges.size === 0) readExchanges(plan)
  const exchange = exchanges.get(id)?.get(text)
  if (exchange === undefined || sent.has(exchange.mutant)) return exchange
  sent.add(exchange.mutant)
  if (sentFile !== undefined) appendFileSync(sentFile, `${JSON.stringify(exchange.mutant)}\n`)
  return exchange
}

function readExchanges(plan: string): void {
  const { plays }: Plan = JSON.parse(readFileSync(plan, 'utf8'))
  for (const { id: play, mutants } of plays) {
    const pairs = mutants.flatMap(({ id, exchanges: texts }) =>
      texts.map(({ from, to }, index) => [from, { text: to, name: `${id} ${index}`, mutant: id }] as const),
    )
    exchanges.set(play, new Map(pairs))
  }
}

function exchanged(statement: Statement | undefined): Statement | undefined {
  const text = textOf(statement)
  const mutant = text === undefined ? undefined : exchangeOf(text)
  if (mutant === undefined || statement === undefined) return statement
  if (typeof statement === 'string') return mutant.text
  if ('submit' in statement) return Object.assign(statement, { text: mutant.text })
  // Connections know a prepared statement by its name, whatever its text, and a connection may outlive a mutant.
  return { ...statement, text: mutant.text, ...(statement.name ? { name: mutant.name } : {}) }
}

for (const { prototype } of [pg.Pool, pg.Client] as Array<{ prototype: { query: (...given: unknown[]) => unknown } }>) {
  const query = prototype.query
  prototype.query = function exchanging(this: unknown, ...[statement, ...given]: unknown[]) {
    record(statement as Statement | undefined)
    return query.call(this, exchanged(statement as Statement | undefined), ...given)
  }
}
