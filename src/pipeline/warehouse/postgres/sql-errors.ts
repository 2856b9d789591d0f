import { connectionCauseOf, connectionCauses, connectionHint } from '../../../base/connections/causes.ts'
import { EngineUnreachable, type Problem } from '../../../base/errors.ts'
import { sqlState } from '../../../base/postgres/postgres-errors.ts'

/** Classes 22, 23 and 54: Postgres rejects this very data, so a retry would change nothing. */
export const isDataException = (error: unknown): boolean => /^(22|23|54)/.test(sqlState(error))

/** The fault of Postgres, in words, for the states that an operator can mend. */
const outageWords: Readonly<Record<string, string>> = {
  '53100': 'its disk is full',
  '53200': 'it has no memory left',
  '53300': 'it has no connection left',
  '25006': 'it is a standby that only reads',
  '57P01': 'it was shut down',
  '57P02': 'it crashed',
  '57P03': 'it is starting or shutting down',
  '57014': 'the statement took too long',
  '55P03': 'a lock was not free in time',
}

/** An outage of Postgres in words that quote nothing, with the code by which its manual knows it. */
export function describeOutage(error: unknown): string {
  const state = sqlState(error)
  const words = outageWords[state] ?? 'it does not answer'
  return `Postgres: ${words}${state === '' ? '' : ` (${state})`}`
}

/** Some people of the warehouse cannot be reached, and the others can: only their jobs wait. */
export class PartialOutage extends EngineUnreachable {}

/** The statement took too long, or the lock was not free in time. */
export const isTooLong = (error: unknown): boolean => ['57014', '55P03'].includes(sqlState(error))

export function postgresUnreachable(cause: unknown): Problem {
  if (cause instanceof EngineUnreachable) return cause
  if (sqlState(cause) === '53100') {
    return new EngineUnreachable(`reach ${describeOutage(cause)}`, {
      hint: 'Free some space on the machine of Postgres: workers that are running then go on by themselves.',
      cause,
    })
  }
  const name = connectionCauseOf(cause)
  const { words, code } = connectionCauses[name]
  const hint = connectionHint(name, 'DATABASE_URL')
  return new EngineUnreachable(`reach Postgres: ${words}`, { hint, cause, isConfiguration: code === 2 })
}
