import { type OperationName, operations } from '../contract/operations.ts'

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

/** Fills the one variable part of a path. Undefined where the name cannot stand in a path without changing it. */
export function pathOf(name: OperationName, externalId: string | undefined): string | undefined {
  const { path } = operations[name]
  if (!path.includes('{externalId}')) return path
  if (externalId === undefined || externalId === '' || externalId === '.' || externalId === '..') return undefined
  if (!externalId.isWellFormed()) return undefined
  return path.replace('{externalId}', () => encodeURIComponent(externalId))
}
