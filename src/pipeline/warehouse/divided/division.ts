import { sqlState } from '../../../base/postgres/postgres-errors.ts'
import { hashRangeOf } from '../../fleet/hash-ranges.ts'
import { isTooLong, PartialOutage } from '../postgres/sql-errors.ts'
import { type Division, undivided } from '../postgres/warehouse-pool.ts'

/**
 * The profiles of a divided warehouse, by the hash and the ranges of Citus: the profiles of one key lie in one shard. A statement that
 * names profiles of one shard, at every table of a person, is sent whole to the node that has them.
 */
export function createDivision(count: number): Division {
  if (count === 1) return undivided
  const keyOf = (profileId: string) => hashRangeOf(profileId, count)
  return {
    count,
    keyOf,
    split: (items, profileIdOf) => [...Map.groupBy(items, (item) => keyOf(profileIdOf(item))).values()],
    toCallersError,
  }
}

/**
 * The coordinator's error about a node in the form that callers know from one Postgres. An outage of one node is a `PartialOutage`. An error
 * of a COPY, which the coordinator reports as an internal error, has the SQLSTATE that the node gave it.
 */
export function toCallersError(given: unknown): unknown {
  if (!(given instanceof Error) || given instanceof PartialOutage) return given
  const error = withNodesState(given)
  if (isOfNode(error)) {
    const node = nodeOf(error)
    return new PartialOutage(`reach ${node ? `node ${node}` : 'a node'} of the warehouse: it does not answer`, {
      cause: error,
      hint: 'The people of the other nodes are worked on meanwhile. Start the node: `vitalsync doctor` asks each of them.',
    })
  }
  // The coordinator waits for a node that is silent until the statement has taken too long. The other people can be worked on.
  if (isTooLong(error)) {
    return new PartialOutage('work in the warehouse: the statement took too long, perhaps because a node is silent', {
      cause: error,
      hint: '`vitalsync doctor` names the node. It is tried again every few seconds.',
    })
  }
  return error
}

/** Citus words it in three ways; none of them quotes a value. */
function isOfNode(error: Error): boolean {
  const state = sqlState(error)
  if (state.startsWith('08')) return error.message.includes('connection to the remote node')
  if (state === 'XX000') return /failure on connection|on at least one active node/.test(error.message)
  return state.startsWith('57P0') && contextOf(error).includes('while executing command on')
}

const contextOf = (error: Error): string => ('where' in error ? String(error.where) : '')

const nodeOf = (error: Error): string | undefined =>
  /(?:remote node \S+@|marked as essential: )([^\s@]+:\d+)/.exec(error.message)?.[1] ??
  /while executing command on (\S+:\d+)/.exec(contextOf(error))?.[1]

/**
 * By the message, because of a node's error in a COPY the coordinator passes on the message and the detail alone
 * (`ReportCopyError` of Citus). Each state here decides what a caller does: refuse the data, run the transaction again, or wait.
 */
const copyStates: readonly (readonly [RegExp, string])[] = [
  [/duplicate key value violates unique constraint/, '23505'],
  [/violates (check|foreign key|not-null|exclusion) constraint/, '23000'],
  [/index row (size|requires) .* (exceeds|maximum)/, '54000'],
  [/^could not serialize access due to /, '40001'],
  [/^deadlock detected$/, '40P01'],
  [/^canceling statement due to lock timeout$/, '55P03'],
  [/^canceling statement due to statement timeout$/, '57014'],
  [/: No space left on device$/, '53100'],
]

function withNodesState(error: Error): Error {
  if (sqlState(error) !== 'XX000') return error
  const code = copyStates.find(([message]) => message.test(error.message))?.[1]
  return code ? Object.assign(new Error(error.message, { cause: error }), { code }) : error
}
