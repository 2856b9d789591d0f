import type { z } from 'zod'
import { type ErrorBody, originOf } from '../contract/error-body.ts'

export type Fault = { origin: string; errors: string[] }

const titles: Record<number, string> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  413: 'Payload Too Large',
  414: 'URI Too Long',
  415: 'Unsupported Media Type',
  417: 'Expectation Failed',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
}

type RefusalOptions = {
  status: number
  /** The part of the request at fault. */
  location?: 'body' | 'query' | 'path' | 'header' | 'route' | 'request' | 'service'
  faults?: Fault[]
  headers?: Record<string, string>
}

/** A request that is turned down, in the service's own words. Carries nothing that the caller did not send himself. */
export class Refusal extends Error {
  readonly status: number
  readonly body: ErrorBody
  readonly headers: Record<string, string>

  constructor(options: RefusalOptions) {
    super(titles[options.status] ?? 'Error')
    this.name = 'Refusal'
    this.status = options.status
    this.headers = options.headers ?? {}
    this.body = {
      title: titles[options.status] ?? 'Error',
      statusCode: options.status,
      location: options.location ?? 'request',
      errors: options.faults ?? [],
    }
  }
}

export function badRequest(location: 'body' | 'query' | 'path' | 'header' | 'request', faults: Fault[]): Refusal {
  return new Refusal({ status: 400, location, faults })
}

/** One text for every way in which a token can be wrong, so that nobody learns which it was. */
export function unauthorized(): Refusal {
  return new Refusal({
    status: 401,
    location: 'header',
    faults: [
      { origin: 'Authorization', errors: ['is missing, unknown, expired, or not of the kind this route takes'] },
    ],
    headers: { 'www-authenticate': 'account, profile' },
  })
}

export function unknownProfile(): Refusal {
  const faults = [{ origin: 'externalId', errors: ['is not known'] }]
  return new Refusal({ status: 404, location: 'path', faults })
}

export function unavailable(reason: string): Refusal {
  const faults = [{ origin: '', errors: [reason] }]
  return new Refusal({ status: 503, location: 'service', faults, headers: { 'retry-after': '5' } })
}

const originsMax = 100

/** Every field at fault once, by its path, with all that is wrong with it. */
export function faultsOf(error: z.ZodError): Fault[] {
  const faults = new Map<string, string[]>()
  for (const issue of error.issues.flatMap(innermost)) {
    const origin = originOf(issue.path)
    const errors = faults.get(origin) ?? []
    if (!errors.includes(issue.message)) errors.push(issue.message)
    faults.set(origin, errors)
  }
  return [...faults].slice(0, originsMax).map(([origin, errors]) => ({ origin, errors }))
}

type Issue = { path: PropertyKey[]; message: string }

/** Where one of several shapes was meant, as its faults lie within it, these say more than that no shape fitted. */
function innermost(issue: z.core.$ZodIssue): Issue[] {
  if (issue.code !== 'invalid_union') return [issue]
  const meant = issue.errors.find((issues) => issues.length > 0 && issues.every((inner) => inner.path.length > 0))
  if (!meant) return [issue]
  return meant.flatMap(innermost).map(({ path, message }) => ({ path: [...issue.path, ...path], message }))
}
