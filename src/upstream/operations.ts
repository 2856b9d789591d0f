import { type OperationName, operations } from '../contract/operations.ts'
import { encode } from './query.ts'

/** Sending these again does no harm beyond what reads do: logs carry ids of their own, a token more is only a token more. */
const harmlessAgain = new Set<OperationName>(['uploadLogs', 'accountToken', 'profileToken'])

/** Whether the client itself may send the operation again within seconds. Everything else is for the queue to repeat. */
export function isRepeatable(name: OperationName): boolean {
  return operations[name].method === 'GET' || harmlessAgain.has(name)
}

/** Whose trouble a refusal is: one profile's, or everybody's. */
export function isAboutProfile(name: OperationName): boolean {
  const { caller, path } = operations[name]
  return caller === 'profile' || path.includes('{externalId}') || name === 'profileToken'
}

/** Fills the one variable part of a path, its end. Undefined where the name cannot stand in a path without changing it. */
export function pathOf(name: OperationName, externalId: string | undefined): string | undefined {
  const prefix = prefixes.get(name)
  if (prefix === undefined) return operations[name].path
  if (externalId === undefined || externalId === '' || externalId === '.' || externalId === '..') return undefined
  return externalId.isWellFormed() ? prefix + encode(externalId) : undefined
}

const variable = '{externalId}'

const prefixes = new Map<string, string>(
  Object.entries(operations).flatMap(([name, { path }]) =>
    path.endsWith(variable) ? [[name, path.slice(0, -variable.length)] as const] : [],
  ),
)
