import { type Operation, type OperationName, operations } from '../../base/contract/operations.ts'

/** Writes that do no harm when they are sent twice: logs have ids of their own, and a second token is harmless. */
const idempotentWrites: readonly OperationName[] = ['uploadLogs', 'accountToken', 'profileToken']

/** Whether the client itself may retry the operation within seconds. The queue retries all other operations. */
export function isRetryable({ name, method }: Operation): boolean {
  return method === 'GET' || idempotentWrites.some((idempotent) => idempotent === name)
}

/** Whether a refusal concerns one profile only, not the whole account. */
export function isAboutProfile({ name, caller, path }: Operation): boolean {
  return caller === 'profile' || path.includes(pathParameter) || name === 'profileToken'
}

const pathParameter = '{externalId}'

const operationPaths: ReadonlySet<string> = new Set(Object.values(operations).map(({ path }) => path))

/** The path with `externalId` at its end, where the operation has one. Undefined when the id would change the path. */
export function requestPathOf({ path }: Operation, externalId: string | undefined): string | undefined {
  if (!path.endsWith(pathParameter)) return path
  if (externalId === undefined || externalId === '' || externalId === '.' || externalId === '..') return undefined
  if (!externalId.isWellFormed()) return undefined
  const requestPath = path.slice(0, -pathParameter.length) + encodeQueryValue(externalId)
  return operationPaths.has(requestPath) ? undefined : requestPath
}

/** Encodes a query with its question mark; empty when no parameter has a value. Lists are joined by commas. */
export function queryStringOf(
  query: Readonly<Record<string, string | number | readonly string[] | undefined>>,
): string {
  let text = ''
  for (const key in query) {
    const value = query[key]
    if (value === undefined || value === '') continue
    const encoded = typeof value === 'object' ? value.map(encodeQueryValue).join(',') : encodeQueryValue(value)
    text += `${text === '' ? '?' : '&'}${key}=${encoded}`
  }
  return text
}

/** Instants and most names need no encoding; only other values pay for it. */
const unreserved = /^[\w:.-]*$/

function encodeQueryValue(value: string | number): string {
  return typeof value === 'string' && unreserved.test(value) ? value : encodeURIComponent(value)
}
