import type pg from 'pg'
import { destroyConnection } from '../../../src/base/postgres/silent-server.ts'
import type { Cut } from '../../simulation/line.ts'

/** Cuts the connection of one transaction of a pool at a chosen statement. */
export type Cutter = {
  /** The next transaction, or the next statement outside of one, loses its connection. */
  arm(cut: Cut): void
  /** Nothing is cut any more. False: nothing was. */
  disarm(): boolean
}

/** Asked every few seconds beside the transactions of the story, when the counts of lateness are written. */
const BESIDE =
  /vitalsync\.lateness|^\s*select stream from vitalsync\.settle_times|(into|update) vitalsync\.settle_times|from vitalsync\.silent_differences|from vitalsync\.profiles where state <> 'gone'/
const BEGINS = /^begin\b/
/** The driver's words for a connection that its server has closed. */
const lost = () => new Error('Connection terminated unexpectedly')

type Query = (...args: unknown[]) => unknown
type Callback = (error: Error | undefined, result?: unknown) => void

const textOf = (statement: unknown): string =>
  typeof statement === 'string' ? statement : String(Object(statement).text ?? '')

export function installCutter(pool: Pick<pg.Pool, 'on'>): Cutter {
  let armed: Cut | undefined
  let wasCut = false
  const connections = new WeakMap<object, { statements: number; isInTransaction: boolean }>()

  /** Whether the connection dies at this statement: before it is sent, or when its answer is on the way. */
  function momentOf(client: object, text: string): 'before' | 'after' | undefined {
    const state = connections.get(client)
    if (!armed || !state || BESIDE.test(text)) return undefined
    if (BEGINS.test(text)) Object.assign(state, { statements: 0, isInTransaction: true })
    const isLast = !state.isInTransaction || text === 'commit'
    if (armed.when === 'after the commit') return isLast ? 'after' : undefined
    const isDue = state.statements >= armed.at || isLast
    state.statements += 1
    return isDue ? 'before' : undefined
  }

  function cutAt(client: pg.PoolClient, query: Query, args: unknown[]): unknown {
    const text = textOf(args[0])
    const moment = momentOf(client, text)
    if (/^(commit|rollback)$/.test(text)) Object.assign(connections.get(client) ?? {}, { isInTransaction: false })
    if (moment === undefined) return query(...args)
    armed = undefined
    wasCut = true
    if (moment === 'before') {
      destroyConnection(client)
      return query(...args)
    }
    const answered = args.at(-1)
    if (typeof answered !== 'function') {
      return Promise.resolve(query(...args)).then(() => {
        destroyConnection(client)
        throw lost()
      })
    }
    const loseAnswer: Callback = (error) => {
      destroyConnection(client)
      answered(error ?? lost())
    }
    return query(...args.slice(0, -1), loseAnswer)
  }

  pool.on('connect', (client) => {
    connections.set(client, { statements: 0, isInTransaction: false })
    const query: Query = client.query.bind(client)
    Object.assign(client, { query: (...args: unknown[]) => cutAt(client, query, args) })
  })
  return {
    arm(cut) {
      armed = cut
      wasCut = false
    },
    disarm() {
      armed = undefined
      return wasCut
    },
  }
}
