import type { Operation, OperationName } from '../contract/operations.ts'
import { encode } from './query.ts'

/** Sending these again does no harm beyond what reads do: logs carry ids of their own, a token more is only a token more. */
const harmlessAgain: readonly OperationName[] = ['uploadLogs', 'accountToken', 'profileToken']

/** Whether the client itself may send the operation again within seconds. Everything else is for the queue to repeat. */
export function isRepeatable({ name, method }: Operation): boolean {
  return method === 'GET' || harmlessAgain.some((harmless) => harmless === name)
}

/** Whose trouble a refusal is: one profile's, or everybody's. */
export function isAboutProfile({ name, caller, path }: Operation): boolean {
  return caller === 'profile' || path.includes(variable) || name === 'profileToken'
}

const variable = '{externalId}'

/** Fills the one variable part of a path, its end. Undefined where the name cannot stand in a path without changing it. */
export function pathOf({ path }: Operation, externalId: string | undefined): string | undefined {
  if (!path.endsWith(variable)) return path
  if (externalId === undefined || externalId === '' || externalId === '.' || externalId === '..') return undefined
  return externalId.isWellFormed() ? path.slice(0, -variable.length) + encode(externalId) : undefined
}
